// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/token_trie.hpp"

namespace lockstep::data {

std::int32_t TokenTrie::child(const Node& node, char byte) noexcept {
    for (const auto& [next, place] : node.next)
        if (next == byte) return place;
    return -1;
}

void TokenTrie::add(std::string_view text, std::int32_t number) {
    if (text.empty()) return;
    begins_[static_cast<unsigned char>(text.front())] = true;
    std::size_t at = 0;
    for (const char byte : text) {
        std::int32_t next = child(nodes_[at], byte);
        if (next < 0) {
            next = static_cast<std::int32_t>(nodes_.size());
            nodes_[at].next.emplace_back(byte, next);
            nodes_.emplace_back();
        }
        at = static_cast<std::size_t>(next);
    }
    if (nodes_[at].number < 0) nodes_[at].number = number;
}

TokenTrie::Match TokenTrie::longest_at(std::string_view text, std::size_t begin) const noexcept {
    Match match;
    std::size_t at = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
        const std::int32_t next = child(nodes_[at], text[i]);
        if (next < 0) break;
        at = static_cast<std::size_t>(next);
        if (nodes_[at].number >= 0) match = {begin, i + 1, nodes_[at].number};
    }
    return match;
}

TokenTrie::Match TokenTrie::find(std::string_view text, std::size_t from) const noexcept {
    if (nodes_.size() == 1) return {};
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
        const Match match = longest_at(text, begin);
        if (match.number >= 0) return match;
    }
    return {};
}

}  // namespace lockstep::data
