// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::data {

// Finds texts of a list in a text: the leftmost, and of those that begin at one place the longest.
class TokenTrie {
public:
    // The first of two equal texts counts.
    void add(std::string_view text, std::int32_t number);

    struct Match {
        std::size_t begin = std::string_view::npos, end = 0;  // npos: there is none
        std::int32_t number = -1;
    };
    Match find(std::string_view text, std::size_t from) const noexcept;

private:
    struct Node {
        std::int32_t number = -1;
        std::vector<std::pair<char, std::int32_t>> next;
    };
    Match longest_at(std::string_view text, std::size_t begin) const noexcept;
    static std::int32_t child(const Node& node, char byte) noexcept;

    std::vector<Node> nodes_{1};
    std::array<bool, 256> begins_{};  // bytes with which a text begins
};

}  // namespace lockstep::data
