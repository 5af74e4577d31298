// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/split_pattern.hpp"

#include "data/patterns/known_patterns.hpp"
#include "data/patterns/pcre2_pattern.hpp"

namespace lockstep::data {

std::unique_ptr<SplitPattern> make_split_pattern(const std::string& regex) {
    if (auto known = make_known_pattern(regex)) return known;
    return make_pcre2_pattern(regex);
}

}  // namespace lockstep::data
