// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"

#include <immintrin.h>

namespace lockstep::kernels::cpu {

namespace {

// Philox4x32's, as in runtime/core/philox.hpp.
constexpr std::uint32_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u;
constexpr int rounds = dropout_rounds, rounds_in_start = 3;
static_assert(rounds >= rounds_in_start);

void write_default(const RowMask& mask, std::int64_t first, std::int64_t columns,
                   float* factors) noexcept {
    for (std::int64_t j = 0; j < columns; j += 4) {
        const auto counter = static_cast<std::uint32_t>((first + j) / 4);
        const PhiloxBlock words =
            philox<dropout_rounds>({mask.site, mask.row, mask.position, counter}, mask.key);
        for (std::size_t w = 0; w < words.size(); ++w)
            factors[j + static_cast<std::int64_t>(w)] = words[w] < mask.threshold ? 0 : mask.scale;
    }
}

// The keys of all rounds. They are read from memory, because to spread one from a register in each
// round would take the units that calculate.
struct RoundKeys {
    long long words[rounds][2];

    explicit RoundKeys(std::uint64_t key) noexcept {
        for (std::uint32_t round = 0; round < rounds; ++round) {
            words[round][0] = static_cast<std::uint32_t>(key) + round * weyl0;
            words[round][1] = static_cast<std::uint32_t>(key >> 32) + round * weyl1;
        }
    }
    std::uint64_t of(int round, int half) const noexcept {
        return static_cast<std::uint64_t>(words[round][half]);
    }
};

// Counters are {site, row, position, n}, and only n differs within a row. This is the part of the
// first three rounds that does not depend on n. A name says the round and the word of its result;
// the word is this part xor a part that depends on n.
struct RowStart {
    long long first2, second0, third0, third1, third2;

    RowStart(const RowMask& mask, const RoundKeys& keys) noexcept {
        const auto low = [](std::uint64_t x) { return x & 0xFFFFFFFFu; };
        std::uint64_t a = std::uint64_t{mask.site} * multiplier0;
        std::uint64_t b = std::uint64_t{mask.position} * multiplier1;
        const std::uint64_t c0 = low((b >> 32) ^ mask.row ^ keys.of(0, 0));
        first2 = static_cast<long long>(low((a >> 32) ^ keys.of(0, 1)));
        second0 = static_cast<long long>(low(b ^ keys.of(1, 0)));
        const std::uint64_t c3 = low(a);
        a = c0 * multiplier0;
        b = low((a >> 32) ^ c3 ^ keys.of(1, 1)) * multiplier1;
        third0 = static_cast<long long>(low((b >> 32) ^ keys.of(2, 0)));
        third1 = static_cast<long long>(low(b));
        third2 = static_cast<long long>(low(a ^ keys.of(2, 1)));
    }
};

// These compute philox<dropout_rounds>() for several counters at once. Words are kept in 64-bit
// lanes, of which only the lower halves count, so that a product needs no shuffles. Intrinsics are
// three times as fast as the compiler's code, which multiplies 64 by 64 bits although 32 by 32 are
// enough. The counters begin in an order that the last unpacking reverses.
struct FourCounters {
    static constexpr int counters = 4;
    __m256i c0, c1, c2, c3;

    [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void begin(
        const RowMask& mask, std::int64_t counter) noexcept {
        c0 = _mm256_set1_epi64x(mask.site);
        c1 = _mm256_set1_epi64x(mask.row);
        c2 = _mm256_set1_epi64x(mask.position);
        c3 = _mm256_add_epi64(_mm256_set1_epi64x(counter), _mm256_setr_epi64x(0, 2, 1, 3));
    }
    [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void turn(
        const long long (&keys)[2]) noexcept {
        const __m256i a = _mm256_mul_epu32(c0, _mm256_set1_epi64x(multiplier0));
        const __m256i b = _mm256_mul_epu32(c2, _mm256_set1_epi64x(multiplier1));
        const __m256i k0 = _mm256_set1_epi64x(keys[0]), k1 = _mm256_set1_epi64x(keys[1]);
        c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(b, 32), c1), k0);
        c1 = b;
        c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(a, 32), c3), k1);
        c3 = a;
    }
    [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void store(
        const RowMask& mask, float* factors) const noexcept {
        const __m256i threshold = _mm256_set1_epi32(static_cast<int>(mask.threshold));
        const __m256 scale = _mm256_set1_ps(mask.scale);
        const __m256i w01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
        const __m256i w23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
        const __m256i low = _mm256_unpacklo_epi64(w01, w23);
        const __m256i high = _mm256_unpackhi_epi64(w01, w23);
        const __m256i low_kept = _mm256_cmpeq_epi32(_mm256_max_epu32(low, threshold), low);
        const __m256i high_kept = _mm256_cmpeq_epi32(_mm256_max_epu32(high, threshold), high);
        _mm256_storeu_ps(factors, _mm256_and_ps(_mm256_castsi256_ps(low_kept), scale));
        _mm256_storeu_ps(factors + 8, _mm256_and_ps(_mm256_castsi256_ps(high_kept), scale));
    }
};

struct EightCounters {
    static constexpr int counters = 8, width = 4 * counters;
    __m512i c0, c1, c2, c3;

    // Computes the first rounds_in_start rounds.
    [[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void begin(
        const RowStart& row, std::int64_t counter) noexcept {
        const __m512i n =
            _mm512_add_epi64(_mm512_set1_epi64(counter), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
        const __m512i first = _mm512_xor_si512(n, _mm512_set1_epi64(row.first2));
        const __m512i b = _mm512_mul_epu32(first, _mm512_set1_epi64(multiplier1));
        const __m512i second =
            _mm512_xor_si512(_mm512_srli_epi64(b, 32), _mm512_set1_epi64(row.second0));
        const __m512i a = _mm512_mul_epu32(second, _mm512_set1_epi64(multiplier0));
        c0 = _mm512_xor_si512(b, _mm512_set1_epi64(row.third0));
        c1 = _mm512_set1_epi64(row.third1);
        c2 = _mm512_xor_si512(_mm512_srli_epi64(a, 32), _mm512_set1_epi64(row.third2));
        c3 = a;
    }
    [[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void turn(
        const long long (&keys)[2]) noexcept {
        constexpr int exclusive_or = 0x96;
        const __m512i a = _mm512_mul_epu32(c0, _mm512_set1_epi64(multiplier0));
        const __m512i b = _mm512_mul_epu32(c2, _mm512_set1_epi64(multiplier1));
        const __m512i k0 = _mm512_set1_epi64(keys[0]), k1 = _mm512_set1_epi64(keys[1]);
        c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(b, 32), c1, k0, exclusive_or);
        c1 = b;
        c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(a, 32), c3, k1, exclusive_or);
        c3 = a;
    }
    [[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void store(
        const RowMask& mask, float* factors) const noexcept {
        const __m512i threshold = _mm512_set1_epi32(static_cast<int>(mask.threshold));
        const __m512 scale = _mm512_set1_ps(mask.scale);
        const __m512i w01 = _mm512_mask_shuffle_epi32(c0, 0xAAAA, c1, _MM_PERM_CCAA);
        const __m512i w23 = _mm512_mask_shuffle_epi32(c2, 0xAAAA, c3, _MM_PERM_CCAA);
        const __m512i low = _mm512_unpacklo_epi64(w01, w23);
        const __m512i high = _mm512_unpackhi_epi64(w01, w23);
        const __mmask16 low_kept = _mm512_cmpge_epu32_mask(low, threshold);
        const __mmask16 high_kept = _mm512_cmpge_epu32_mask(high, threshold);
        _mm512_storeu_ps(factors, _mm512_maskz_mov_ps(low_kept, scale));
        _mm512_storeu_ps(factors + 16, _mm512_maskz_mov_ps(high_kept, scale));
    }
};

// Each of two groups of counters waits for its products, so the two take turns.
[[gnu::target("arch=x86-64-v3")]] void write_v3(const RowMask& given, std::int64_t first,
                                                std::int64_t columns, float* factors) noexcept {
    const RowMask mask = given;  // a copy, which the stores of factors cannot change
    const RoundKeys keys(mask.key);
    constexpr std::int64_t width = FourCounters::counters * 4;
    static_assert(mask_columns % (2 * width) == 0);
    for (std::int64_t j = 0; j < columns; j += 2 * width) {
        FourCounters one, other;
        one.begin(mask, (first + j) / 4);
        other.begin(mask, (first + j + width) / 4);
#pragma GCC unroll 7
        for (const auto& round : keys.words) {
            one.turn(round);
            other.turn(round);
        }
        one.store(mask, factors + j);
        other.store(mask, factors + j + width);
    }
}

// Groups of counters wait for their products, so several take turns.
template <int groups>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void write_groups(
    const RowMask& mask, const RoundKeys& keys, const RowStart& row, std::int64_t counter,
    float* factors) noexcept {
    EightCounters group[groups];
#pragma GCC unroll 4
    for (int i = 0; i < groups; ++i) group[i].begin(row, counter + i * EightCounters::counters);
#pragma GCC unroll 4
    for (int round = rounds_in_start; round < rounds; ++round)
#pragma GCC unroll 4
        for (int i = 0; i < groups; ++i) group[i].turn(keys.words[round]);
#pragma GCC unroll 4
    for (int i = 0; i < groups; ++i) group[i].store(mask, factors + i * EightCounters::width);
}

[[gnu::target("arch=x86-64-v4")]] void write_v4(const RowMask& given, std::int64_t first,
                                                std::int64_t columns, float* factors) noexcept {
    const RowMask mask = given;  // a copy, which the stores of factors cannot change
    const RoundKeys keys(mask.key);
    const RowStart row(mask, keys);
    constexpr std::int64_t width = EightCounters::width;
    static_assert(mask_columns == 2 * width);
    std::int64_t j = 0;
    for (; columns - j > 2 * width; j += 4 * width)
        write_groups<4>(mask, keys, row, (first + j) / 4, factors + j);
    if (j < columns) write_groups<2>(mask, keys, row, (first + j) / 4, factors + j);
}

}  // namespace

std::vector<MaskVariant> mask_variants() {
    std::vector<MaskVariant> variants;
    if (__builtin_cpu_supports("x86-64-v4") != 0) variants.push_back({"x86-64-v4", write_v4});
    if (__builtin_cpu_supports("x86-64-v3") != 0) variants.push_back({"x86-64-v3", write_v3});
    variants.push_back({"default", write_default});
    return variants;
}

void mask_factors(const RowMask& mask, std::int64_t first, std::int64_t columns,
                  float* factors) noexcept {
    static const auto write = mask_variants().front().write;
    write(mask, first + mask.first_column, columns, factors);
}

}  // namespace lockstep::kernels::cpu
