// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/stop_texts.hpp"

#include <algorithm>

namespace lockstep::launcher {

namespace {

// Returns the text as its tokens decode; empty if the tokenizer does not know all of it.
std::string as_decoded(const data::Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::int32_t> tokens;
    tokenizer.encode(text, tokens);
    const auto unk = tokenizer.special().unk;
    if (unk && std::ranges::find(tokens, *unk) != tokens.end()) return "";
    return tokenizer.decode(tokens);
}

}  // namespace

StopTexts::StopTexts(const data::Tokenizer& tokenizer, const std::vector<std::string>& texts)
    : tokenizer_(tokenizer) {
    for (const std::string& text : texts) {
        forms_.push_back(text);
        // A shorter form has lost blanks, and would be found where the text itself is not.
        const std::string decoded = as_decoded(tokenizer, text);
        if (decoded.size() >= text.size() && decoded != text) forms_.push_back(decoded);
    }
    for (const std::string& form : forms_) longest_bytes_ = std::max(longest_bytes_, form.size());
}

std::size_t StopTexts::first_in(std::string_view text) const noexcept {
    std::size_t first = std::string_view::npos;
    for (const std::string& form : forms_) first = std::min(first, text.find(form));
    return first;
}

bool StopTexts::are_at_end(std::span<const std::int32_t> tokens) const {
    // The first bytes of a part may differ from those of the whole: a piece loses its blank there,
    // and a character its first bytes.
    constexpr std::size_t uncertain_bytes = 16;
    const std::size_t enough_bytes =
        longest_bytes_ + tokenizer_.decode(tokens.last(1)).size() + uncertain_bytes;
    // Some tokens have no text, so their number says little of the text's length.
    for (std::size_t count = 8; count < tokens.size(); count *= 2) {
        const std::string text = tokenizer_.decode(tokens.last(count));
        if (text.size() < enough_bytes) continue;
        if (first_in(text) == std::string_view::npos) return false;
        break;
    }
    return first_in(tokenizer_.decode(tokens)) != std::string_view::npos;
}

std::size_t StopTexts::begun_bytes(std::string_view text) const noexcept {
    std::size_t most = 0;
    for (const std::string& form : forms_)
        for (std::size_t bytes = std::min(form.size() - 1, text.size()); bytes > most; --bytes)
            if (text.ends_with(std::string_view(form).substr(0, bytes))) most = bytes;
    return most;
}

std::string StopTexts::cut(std::string text) const {
    text.resize(std::min(text.size(), first_in(text)));
    return text;
}

}  // namespace lockstep::launcher
