// SPDX-License-Identifier: Apache-2.0
#pragma once

// Classes of code points as Hugging Face's `tokenizers` has them. What is no code point has none.
namespace lockstep::data {

// As its regular expressions have them, in Unicode 16.
bool is_letter(char32_t code_point) noexcept;       // \p{L}
bool is_number(char32_t code_point) noexcept;       // \p{N}
bool is_mark(char32_t code_point) noexcept;         // \p{M}
bool is_white_space(char32_t code_point) noexcept;  // \s

// What its pre-tokenizer Punctuation takes: ASCII's punctuation with its symbols, and the
// punctuation of Unicode 8.
bool is_punctuation(char32_t code_point) noexcept;
// What its pre-tokenizer Digits takes: the numbers of Unicode 17.
bool is_numeric(char32_t code_point) noexcept;

}  // namespace lockstep::data
