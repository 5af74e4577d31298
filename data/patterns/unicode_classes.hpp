// SPDX-License-Identifier: Apache-2.0
#pragma once

// Classes of code points as Hugging Face's `tokenizers` has them: Unicode 16 in its regular
// expressions.
namespace lockstep::data {

bool is_letter(char32_t code_point) noexcept;       // \p{L}
bool is_number(char32_t code_point) noexcept;       // \p{N}
bool is_mark(char32_t code_point) noexcept;         // \p{M}
bool is_white_space(char32_t code_point) noexcept;  // \s
// What the pre-tokenizer Punctuation takes: ASCII's punctuation with its symbols, and \p{P}.
bool is_punctuation(char32_t code_point) noexcept;

}  // namespace lockstep::data
