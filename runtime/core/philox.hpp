// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) gives four
// random words that depend only on the counter and the key. It is constexpr, so it runs on every
// device. Seven rounds are the fewest that pass all tests of BigCrush; ten are the usual number.
template <int rounds = 10>
constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) noexcept {
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {
            static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
            static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(a)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

// Mixes two 64-bit words into one (splitmix64's finaliser), for example a key from (seed, step).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t z = a + 0x9E3779B97F4A7C15ull * (b + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Generates a sequence of uniform words for host-side shuffles and initial weights.
class PhiloxStream {
public:
    using result_type = std::uint32_t;

    explicit constexpr PhiloxStream(std::uint64_t key) noexcept : key_(key) {}
    // Begins with the words behind the first `skipped` ones.
    constexpr PhiloxStream(std::uint64_t key, std::uint64_t skipped) noexcept
        : key_(key), index_(skipped / 4) {
        for (std::uint64_t word = 0; word < skipped % 4; ++word) (void)(*this)();
    }

    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return 0xFFFFFFFFu; }
    constexpr result_type operator()() noexcept {
        if (used_ == 4) {
            block_ = philox({static_cast<std::uint32_t>(index_),
                             static_cast<std::uint32_t>(index_ >> 32), 0, 0},
                            key_);
            ++index_;
            used_ = 0;
        }
        return block_[used_++];
    }
    // Returns a uniform word in [0, bound), by multiplication. The bias is below 2^-32 times bound.
    constexpr std::uint32_t below(std::uint32_t bound) noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{(*this)()} * bound) >> 32);
    }
    // Returns a uniform number in [0, 1).
    constexpr double uniform() noexcept { return (*this)() * 0x1p-32; }

private:
    std::uint64_t key_;
    std::uint64_t index_ = 0;
    PhiloxBlock block_{};
    std::size_t used_ = 4;
};

}  // namespace lockstep
