// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// Changes text before it is split. Several threads may call it at once.
class Normalizer {
public:
    virtual ~Normalizer() = default;

    // `text` is UTF-8 and not empty; the result is UTF-8.
    virtual void normalize(std::string& text) const = 0;
};

// Makes the normalizer that a file describes; null describes none. Throws a data error that names a
// type or a member that is not supported.
std::unique_ptr<Normalizer> make_normalizer(const JsonPart& part);

}  // namespace lockstep::data
