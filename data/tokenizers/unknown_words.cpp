// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/unknown_words.hpp"

#include <algorithm>

#include "data/text/read_progress.hpp"
#include "data/tokenizers/dictionary_tokenizer.hpp"

namespace lockstep::data {
namespace {

// Held-out text has a few percent of unknown words if the dictionary fits.
constexpr double many = 0.1;
// A wrong letter case makes at least the first word of most sentences unknown.
constexpr double many_of_wrong_case = 0.02;

bool has_letter(std::string_view token, char first, char last) noexcept {
    return std::any_of(token.begin(), token.end(), [&](char c) { return c >= first && c <= last; });
}

// Returns true if the dictionary keeps the case but has no upper-case letter: then it was made with
// --dict-lower.
bool seems_lowered(const Tokenizer& tokenizer) {
    const auto* words = dynamic_cast<const DictionaryTokenizer*>(&tokenizer);
    if (words == nullptr || words->dictionary().letter_case() == LetterCase::lower) return false;
    bool small = false;
    for (std::int32_t id = *tokenizer.special().unk + 1; id < tokenizer.size(); ++id) {
        const std::string_view token = words->dictionary().token(id);
        if (has_letter(token, 'A', 'Z')) return false;
        small = small || has_letter(token, 'a', 'z');
    }
    return small;
}

}  // namespace

bool has_no_words(const Tokenizer& tokenizer) {
    const auto* words = dynamic_cast<const DictionaryTokenizer*>(&tokenizer);
    return words != nullptr && words->size() == *words->special().unk + 1;
}

std::string unknown_text(const TextTokens& tokens) {
    const double percent = 100 * tokens.unknown_share();
    const bool little = tokens.unknown > 0 && percent < 0.05;
    return (little ? "under 0.1" : one_decimal(percent)) + " % __unk__";
}

void warn_of_unknown(const std::string& split, const TextTokens& tokens, const Tokenizer& tokenizer,
                     const std::string& dict_file, Log& log) {
    const double share = tokens.unknown_share();
    const std::string what = "warning: " + split + ": " + unknown_text(tokens);
    if (share > many_of_wrong_case && !dict_file.empty() && seems_lowered(tokenizer))
        log.info(
            what + ", and no word of " + dict_file +
            " has an upper-case letter; was it made with --dict-lower true? Then say it here too");
    else if (share > many)
        log.info(what +
                 ", which a model can neither read nor say; a dictionary of more such text, "
                 "or --tokenizer sentencepiece, knows more");
}

}  // namespace lockstep::data
