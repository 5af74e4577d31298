// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/subword_nmt.hpp"

#include <algorithm>

#include "data/patterns/unicode_classes.hpp"
#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view word_end = "</w>", joint = "@@";

bool is_space(std::string_view text, std::size_t at, std::size_t& bytes) noexcept {
    const unicode::Decoded c = unicode::decode(text.substr(at));
    bytes = std::max<std::size_t>(1, c.bytes);
    return c.bytes != 0 && is_white_space(c.code_point);
}

// str.strip() of Python has a few more characters.
bool is_stripped(std::string_view text, std::size_t at, std::size_t& bytes) noexcept {
    const unicode::Decoded c = unicode::decode(text.substr(at));
    bytes = std::max<std::size_t>(1, c.bytes);
    return c.bytes != 0 && unicode::class_of(c.code_point) == unicode::Class::space;
}

// Puts spaces around some punctuation, as the three substitutions of transformers' bpe() do.
std::string with_spaces(std::string_view word) {
    std::string text;
    for (const char c : word) {
        const bool before = std::string_view(".,!?()'").find(c) != std::string_view::npos;
        if (before) text += ' ';
        text += c;
        if (c == '\'') text += ' ';
    }
    return text;
}

// Replaces two or more spaces by one.
std::string with_single_spaces(std::string_view text) {
    std::string result;
    for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
        if (!is_space(text, at, bytes)) {
            result += text.substr(at, bytes);
            continue;
        }
        std::size_t end = at + bytes, more = 0;
        while (end < text.size() && is_space(text, end, more)) end += more;
        result += end > at + bytes ? std::string_view(" ") : text.substr(at, bytes);
        bytes = end - at;
    }
    return result;
}

std::string with_line_ends(std::string_view text) {
    std::string result;
    for (const char c : text) c == '\n' ? result += " __newln__" : result += c;
    return result;
}

// Returns the end of `\S+\n?` from a character that is no space.
std::size_t end_of_run(std::string_view text, std::size_t at) noexcept {
    std::size_t bytes = 0;
    while (at < text.size() && !is_space(text, at, bytes)) at += bytes;
    return at < text.size() && text[at] == '\n' ? at + 1 : at;
}

}  // namespace

SubwordNmt::SubwordNmt(const Vocabulary& vocabulary, const std::vector<MergePieces>& merges,
                       std::int32_t unknown)
    : vocabulary_(vocabulary), unknown_(unknown) {
    std::vector<Merge> by_number;
    for (const auto& [left, right] : merges) {
        const auto rank = static_cast<std::uint32_t>(by_number.size());
        const std::int32_t first = number_of(left), second = number_of(right);
        by_number.push_back({first, second, number_of(left + right), rank});
    }
    merges_ = MergeTable(by_number);
}

std::int32_t SubwordNmt::token_of(const std::string& symbol) const noexcept {
    const std::string_view text(symbol);
    std::int32_t id = no_id;
    if (text.ends_with(word_end))
        id = vocabulary_.find(text.substr(0, text.size() - word_end.size()));
    else
        id = vocabulary_.find(symbol + std::string(joint));
    return id == no_id ? unknown_ : id;
}

std::int32_t SubwordNmt::number_of(const std::string& symbol) {
    const auto [entry, is_new] =
        symbols_.try_emplace(symbol, static_cast<std::int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token_of(symbol));
    return entry->second;
}

void SubwordNmt::encode(std::string_view text, BpeWorkspace& workspace,
                        std::vector<std::int32_t>& out) const {
    for (std::size_t at = 0, bytes = 0; at < text.size();) {
        if (is_space(text, at, bytes)) {
            at += bytes;
            continue;
        }
        const std::size_t end = end_of_run(text, at);
        const std::string words =
            with_line_ends(with_single_spaces(with_spaces(text.substr(at, end - at))));
        for (std::size_t begin = 0; begin <= words.size();) {
            const std::size_t space = std::min(words.find(' ', begin), words.size());
            if (space > begin)
                encode_word(unicode::lower(std::string_view(words).substr(begin, space - begin)),
                            workspace, out);
            begin = space + 1;
        }
        at = end;
    }
}

// A character that no merge has stays alone, between words that are merged by themselves. Numbers
// of such characters are negative.
void SubwordNmt::encode_word(std::string_view word, BpeWorkspace& workspace,
                             std::vector<std::int32_t>& out) const {
    if (workspace.cache.find(word, out)) return;
    const std::size_t begin = out.size();
    std::vector<std::int32_t> unmerged;
    workspace.symbols.clear();
    for (std::size_t at = 0, next = 0; at < word.size(); at = next) {
        next = at + std::max<std::size_t>(1, unicode::decode(word.substr(at)).bytes);
        std::string symbol(word.substr(at, next - at));
        if (next == word.size()) symbol += word_end;
        const auto known = symbols_.find(symbol);
        if (known != symbols_.end()) {
            workspace.symbols.push_back(known->second);
            continue;
        }
        unmerged.push_back(token_of(symbol));
        workspace.symbols.push_back(-static_cast<std::int32_t>(unmerged.size()));
    }
    workspace.merger.merge(workspace.symbols, merges_, out);
    for (std::size_t i = begin; i < out.size(); ++i)
        out[i] = out[i] < 0 ? unmerged[static_cast<std::size_t>(-out[i] - 1)]
                            : tokens_[static_cast<std::size_t>(out[i])];
    workspace.cache.insert(word, std::span(out).subspan(begin));
}

void SubwordNmtDecoder::decode(std::vector<std::string>& pieces) const {
    std::string text;
    for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
    for (std::size_t at = 0; (at = text.find("@@ ", at)) != std::string::npos;) text.erase(at, 3);
    std::size_t begin = 0, bytes = 0;
    while (begin < text.size() && is_stripped(text, begin, bytes)) begin += bytes;
    std::size_t end = begin;
    for (std::size_t at = begin; at < text.size(); at += bytes)
        if (!is_stripped(text, at, bytes)) end = at + bytes;
    pieces = {text.substr(begin, end - begin)};
}

}  // namespace lockstep::data
