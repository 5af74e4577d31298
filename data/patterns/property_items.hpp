// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace lockstep::data {

// What stands between the brackets of a class of PCRE2 for \p{name} of `tokenizers`: PCRE2's own
// property (Unicode 14) and the code points that came later. "w" is \w, and "[w]" is \w inside a
// class, where Oniguruma leaves out the fractions and high digits of Latin 1. Only U+1171E, which
// was \p{Mn} and is \p{Mc}, stays in both.
struct PropertyItems {
    std::string_view name, items;
};

extern const std::span<const PropertyItems> property_items;

}  // namespace lockstep::data
