// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/patterns/split_pattern.hpp"

namespace lockstep::data {

// Returns a pattern that PCRE2 searches for, translated by pcre2_regex(). Throws as
// make_split_pattern() does.
std::unique_ptr<SplitPattern> make_pcre2_pattern(const std::string& regex);

}  // namespace lockstep::data
