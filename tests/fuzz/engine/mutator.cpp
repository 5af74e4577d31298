// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/mutator.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

namespace lockstep::fuzz {
namespace {

constexpr std::array<std::string_view, 14> edge_digits = {"0",
                                                          "-1",
                                                          "1",
                                                          "255",
                                                          "65536",
                                                          "2147483647",
                                                          "-2147483648",
                                                          "4294967295",
                                                          "9223372036854775807",
                                                          "-9223372036854775808",
                                                          "18446744073709551615",
                                                          "18446744073709551616",
                                                          "1e999",
                                                          "0.5"};

bool is_digit(std::uint8_t byte) { return byte >= '0' && byte <= '9'; }

bool separates(std::uint8_t byte) {
    return std::string_view(",:;={}[]|\t\n\x1e\x1f").find(static_cast<char>(byte)) !=
           std::string_view::npos;
}

auto at(const Bytes& bytes, std::size_t index) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(index);
}

}  // namespace

void Mutator::change(Bytes& bytes, const Bytes& other) {
    const std::size_t most = below(2) == 0 ? 1 : 4;
    for (std::size_t times = std::size_t{1} << below(most); times > 0; --times)
        change_once(bytes, other);
    if (bytes.size() > max_bytes_) bytes.resize(max_bytes_);
}

void Mutator::change_once(Bytes& bytes, const Bytes& other) {
    switch (below(13)) {
        case 0:
        case 1:
            return change_byte(bytes);
        case 2:
            return put_integer(bytes);
        case 3:
            return put_digits(bytes);
        case 4:
        case 5:
            return put_word(bytes);
        case 6:
            return erase(bytes);
        case 7:
            return repeat(bytes);
        case 8:
            return put(bytes, piece_of(other));
        case 9:
        case 10:
        case 11:
            return replace_token(bytes, other);
        default:
            if (below(4) == 0) bytes.resize(below(bytes.size() + 1));
    }
}

void Mutator::change_byte(Bytes& bytes) {
    if (bytes.empty()) return bytes.push_back(static_cast<std::uint8_t>(random_()));
    std::uint8_t& byte = bytes[below(bytes.size())];
    byte = below(2) == 0 ? static_cast<std::uint8_t>(byte ^ 1u << below(8))
                         : static_cast<std::uint8_t>(random_());
}

// Little-endian integers of 1, 2, 4 and 8 bytes: next to 0, to a power of two or to what is there.
void Mutator::put_integer(Bytes& bytes) {
    const std::size_t size = std::size_t{1} << below(4);
    if (bytes.size() < size) return;
    std::uint8_t* field = bytes.data() + below(bytes.size() - size + 1);
    std::uint64_t value = 0;
    const std::size_t kind = below(3);
    if (kind == 1) value = std::uint64_t{1} << below(8 * size);
    if (kind == 2) std::copy_n(field, size, reinterpret_cast<std::uint8_t*>(&value));
    value += below(9) - 4;
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), size, field);
}

void Mutator::put_digits(Bytes& bytes) {
    if (bytes.empty()) return;
    const auto begin = std::find_if(at(bytes, below(bytes.size())), bytes.cend(), is_digit);
    if (begin == bytes.cend()) return;
    const auto end = std::find_if_not(begin, bytes.cend(), is_digit);
    const std::string_view digits = edge_digits[below(edge_digits.size())];
    bytes.insert(bytes.erase(begin, end), digits.begin(), digits.end());
}

// A value between separators becomes another value: a number, a word, or one of another input.
void Mutator::replace_token(Bytes& bytes, const Bytes& other) {
    const auto old = token_of(bytes);
    const auto from_other = token_of(other);
    Bytes value(from_other.begin(), from_other.end());
    const std::size_t kind = below(3);
    const std::string_view digits = edge_digits[below(edge_digits.size())];
    if (kind == 0) value.assign(digits.begin(), digits.end());
    if (kind == 1 && !words_.empty()) value = words_[below(words_.size())];
    const auto begin = bytes.begin() + (old.data() - bytes.data());
    bytes.insert(bytes.erase(begin, begin + std::ssize(old)), value.begin(), value.end());
}

std::span<const std::uint8_t> Mutator::token_of(const Bytes& bytes) {
    const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() + 1));
    const auto end = std::find_if(middle, bytes.end(), separates);
    const auto begin = std::find_if(std::reverse_iterator(middle), bytes.rend(), separates).base();
    return {begin, end};
}

void Mutator::put_word(Bytes& bytes) {
    if (words_.empty()) return change_byte(bytes);
    put(bytes, words_[below(words_.size())]);
}

void Mutator::erase(Bytes& bytes) {
    const auto piece = piece_of(bytes);
    const auto begin = bytes.begin() + (piece.data() - bytes.data());
    bytes.erase(begin, begin + std::ssize(piece));
}

void Mutator::repeat(Bytes& bytes) {
    const auto piece = piece_of(bytes);
    const Bytes once(piece.begin(), piece.end());
    // A depth or a length that is too much takes many repetitions.
    for (std::size_t times = std::size_t{1} << below(8); times > 0; --times) {
        if (bytes.size() + once.size() > max_bytes_) return;
        bytes.insert(at(bytes, below(bytes.size() + 1)), once.begin(), once.end());
    }
}

void Mutator::put(Bytes& bytes, std::span<const std::uint8_t> piece) {
    const std::size_t offset = below(bytes.size() + 1);
    if (below(2) == 0) {
        bytes.insert(at(bytes, offset), piece.begin(), piece.end());
        return;
    }
    const std::size_t covered = std::min(piece.size(), bytes.size() - offset);
    std::copy_n(piece.begin(), covered, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Short pieces come most often.
std::span<const std::uint8_t> Mutator::piece_of(const Bytes& bytes) {
    const std::size_t begin = below(bytes.size() + 1);
    const std::size_t rest = bytes.size() - begin;
    const std::size_t most = below(2) == 0 ? std::min<std::size_t>(rest, 8) : rest;
    return std::span(bytes).subspan(begin, below(most + 1));
}

}  // namespace lockstep::fuzz
