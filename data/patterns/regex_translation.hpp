// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::data {

// Returns the regular expression of PCRE2 (UTF, UCP, MULTILINE) that takes what `regex` takes in
// Oniguruma's Ruby syntax with Unicode 16. Throws a data error that names the first construct
// outside these: literals, classes with \p{...}, \s \S \d \w \r \n \t, (?:...), (?i:...),
// alternatives, ? * + {n,m} and their lazy forms, ?+ *+ ++, look-ahead, look-behind, $.
// Most others mean different things in the two, or in two versions of one.
std::string pcre2_regex(std::string_view regex);

}  // namespace lockstep::data
