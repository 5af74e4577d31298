// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// Adds special tokens before and behind the ids of a text.
class PostProcessor {
public:
    PostProcessor() = default;
    // Reads the post-processor of a file; null describes one that adds nothing. Throws a data error
    // that names a type or a member that is not supported.
    explicit PostProcessor(const JsonPart& part);

    // Adds what belongs around ids[begin, ids.size()).
    void add(std::size_t begin, std::vector<std::int32_t>& ids) const;
    // Returns all ids that are ever added.
    std::vector<std::int32_t> added() const;

private:
    // A template is a list of tokens to add, with the ids of the text between them.
    struct Template {
        std::vector<std::int32_t> before, behind;
    };
    void read(const JsonPart& part);
    void read_template(const JsonPart& part);
    void read_pair(const JsonPart& part);

    std::vector<Template> templates_;  // each is around the result of the one before it
};

}  // namespace lockstep::data
