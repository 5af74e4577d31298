// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/fuzz/engine/bytes.hpp"

namespace lockstep::fuzz {

// Changes inputs at random: bits, bytes, integers at the edges of their ranges, numbers in digits,
// values between separators, words of the format, pieces that are inserted, deleted, repeated or
// taken from another input, and ends that are cut off. Equal seeds give equal changes.
class Mutator {
public:
    Mutator(std::uint64_t seed, std::vector<Bytes> words, std::size_t max_bytes)
        : random_(seed), words_(std::move(words)), max_bytes_(max_bytes) {}

    // Makes one to eight changes. `other` is another input, from which pieces come.
    void change(Bytes& bytes, const Bytes& other);
    // Returns a number below `limit`, which is above 0.
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

private:
    void change_once(Bytes& bytes, const Bytes& other);
    void change_byte(Bytes& bytes);
    void put_integer(Bytes& bytes);
    void put_digits(Bytes& bytes);
    void replace_token(Bytes& bytes, const Bytes& other);
    void put_word(Bytes& bytes);
    void erase(Bytes& bytes);
    void repeat(Bytes& bytes);
    // Overwrites bytes with the piece, or inserts it.
    void put(Bytes& bytes, std::span<const std::uint8_t> piece);
    std::span<const std::uint8_t> token_of(const Bytes& bytes);
    std::span<const std::uint8_t> piece_of(const Bytes& bytes);

    std::mt19937_64 random_;
    std::vector<Bytes> words_;
    std::size_t max_bytes_;
};

}  // namespace lockstep::fuzz
