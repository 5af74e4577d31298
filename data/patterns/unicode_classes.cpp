// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/unicode_classes.hpp"

#include "data/patterns/class_tables.hpp"

namespace lockstep::data {
namespace {

bool has(char32_t code_point, ClassBit bit) noexcept {
    return code_point < 0x110000 && (classes_of(code_point) & bit) != 0;
}

}  // namespace

bool is_letter(char32_t c) noexcept { return has(c, letter_class); }
bool is_number(char32_t c) noexcept { return has(c, number_class); }
bool is_mark(char32_t c) noexcept { return has(c, mark_class); }
bool is_white_space(char32_t c) noexcept { return has(c, space_class); }
bool is_punctuation(char32_t c) noexcept { return has(c, punctuation_class); }
bool is_numeric(char32_t c) noexcept { return has(c, numeric_class); }

}  // namespace lockstep::data
