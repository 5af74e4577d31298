// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/moment_codes.hpp"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "runtime/core/error.hpp"

namespace lockstep::kernels {

namespace {

template <DynamicMap map>
constexpr std::array<float, 256> shares = moment_shares(map);

template <DynamicMap map>
[[gnu::always_inline]] inline void decode_any(const std::uint8_t* codes, float scale,
                                              std::int64_t size, float* values) {
    for (std::int64_t i = 0; i < size; ++i) values[i] = shares<map>[codes[i]] * scale;
}

// Returns the table's values of 32 codes that follow each other, by the lower bits of the code.
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512 of_run(const float* table,
                                                                           __m512i code) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(table), code, _mm512_loadu_ps(table + 16));
}

// Looks the shares up in registers, because some processors take three times as long for a gather
// from memory.
template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512 shares_of(__m512i code) {
    const float* t = shares<map>.data();
    const __mmask16 bit5 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(32));
    const __mmask16 bit6 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(64));
    const __mmask16 bit7 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(128));
    const __m512 from_0 = _mm512_mask_blend_ps(bit5, of_run(t, code), of_run(t + 32, code));
    const __m512 from_64 = _mm512_mask_blend_ps(bit5, of_run(t + 64, code), of_run(t + 96, code));
    const __m512 from_128 =
        _mm512_mask_blend_ps(bit5, of_run(t + 128, code), of_run(t + 160, code));
    const __m512 from_192 =
        _mm512_mask_blend_ps(bit5, of_run(t + 192, code), of_run(t + 224, code));
    return _mm512_mask_blend_ps(bit7, _mm512_mask_blend_ps(bit6, from_0, from_64),
                                _mm512_mask_blend_ps(bit6, from_128, from_192));
}

// Only the last elements of a cell that is not whole are moved under a mask, because some
// processors take several times as long for that.
template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void decode_wide(
    const std::uint8_t* codes, float scale, std::int64_t size, float* values) {
    const __m512 scales = _mm512_set1_ps(scale);
    std::int64_t i = 0;
    for (; i + 16 <= size; i += 16) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
        _mm512_storeu_ps(values + i,
                         _mm512_mul_ps(shares_of<map>(_mm512_cvtepu8_epi32(some)), scales));
    }
    if (i == size) return;
    const auto lanes = static_cast<__mmask16>((1u << (size - i)) - 1);
    const __m512i last = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, codes + i));
    _mm512_mask_storeu_ps(values + i, lanes, _mm512_mul_ps(shares_of<map>(last), scales));
}

// The bytes of the shares, each in a table of its own: AVX-512 VBMI looks 64 of them up at once.
struct ByteTables {
    alignas(64) std::array<std::array<std::uint8_t, 256>, sizeof(float)> byte;
};
constexpr ByteTables byte_tables_of(DynamicMap map) {
    const std::array<float, 256> all = moment_shares(map);
    ByteTables tables{};
    for (std::size_t code = 0; code < all.size(); ++code)
        for (std::size_t b = 0; b < sizeof(float); ++b)
            tables.byte[b][code] =
                static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(all[code]) >> (8 * b));
    return tables;
}
template <DynamicMap map>
constexpr ByteTables byte_tables = byte_tables_of(map);

// Joining bytes works on lanes of 16 bytes. The codes are put into such an order that their shares
// have the right one.
struct LaneOrder {
    alignas(64) std::array<std::uint8_t, 64> from;
};
constexpr LaneOrder lane_order_of_codes() {
    LaneOrder order{};
    for (std::size_t lane = 0; lane < 4; ++lane)
        for (std::size_t vector = 0; vector < 4; ++vector)
            for (std::size_t i = 0; i < 4; ++i)
                order.from[16 * lane + 4 * vector + i] =
                    static_cast<std::uint8_t>(16 * vector + 4 * lane + i);
    return order;
}
constexpr LaneOrder lane_order = lane_order_of_codes();

[[gnu::target("arch=x86-64-v4,avx512vbmi"), gnu::always_inline]] inline __m512i bytes_of(
    const std::array<std::uint8_t, 256>& table, __m512i codes) {
    const std::uint8_t* t = table.data();
    const __m512i low =
        _mm512_permutex2var_epi8(_mm512_load_si512(t), codes, _mm512_load_si512(t + 64));
    const __m512i high =
        _mm512_permutex2var_epi8(_mm512_load_si512(t + 128), codes, _mm512_load_si512(t + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
}

[[gnu::target("arch=x86-64-v4,avx512vbmi"), gnu::always_inline]] inline void store_scaled(
    float* values, __m512 scales, __m512i shares) {
    _mm512_storeu_ps(values, _mm512_mul_ps(_mm512_castsi512_ps(shares), scales));
}

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4,avx512vbmi")]] void decode_by_bytes(const std::uint8_t* codes,
                                                                  float scale, std::int64_t size,
                                                                  float* values) {
    constexpr const auto& tables = byte_tables<map>.byte;
    const __m512 scales = _mm512_set1_ps(scale);
    const __m512i order = _mm512_load_si512(lane_order.from.data());
    std::int64_t i = 0;
    for (; i + 64 <= size; i += 64) {
        const __m512i some = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(codes + i));
        const __m512i byte0 = bytes_of(tables[0], some), byte1 = bytes_of(tables[1], some);
        const __m512i byte2 = bytes_of(tables[2], some), byte3 = bytes_of(tables[3], some);
        const __m512i low_01 = _mm512_unpacklo_epi8(byte0, byte1);
        const __m512i low_23 = _mm512_unpackhi_epi8(byte0, byte1);
        const __m512i high_01 = _mm512_unpacklo_epi8(byte2, byte3);
        const __m512i high_23 = _mm512_unpackhi_epi8(byte2, byte3);
        store_scaled(values + i, scales, _mm512_unpacklo_epi16(low_01, high_01));
        store_scaled(values + i + 16, scales, _mm512_unpackhi_epi16(low_01, high_01));
        store_scaled(values + i + 32, scales, _mm512_unpacklo_epi16(low_23, high_23));
        store_scaled(values + i + 48, scales, _mm512_unpackhi_epi16(low_23, high_23));
    }
    decode_wide<map>(codes + i, scale, size - i, values + i);
}

[[gnu::always_inline]] inline float largest_any(const float* values, std::int64_t size) {
    float largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < size; ++i) {
        const float magnitude = __builtin_fabsf(values[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

template <DynamicMap map>
[[gnu::always_inline]] inline void encode_any(const float* values, float inverse, std::int64_t size,
                                              std::uint8_t* codes) {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) codes[i] = moment_code<map>(values[i], inverse);
}

// AVX-512 finds the number of a magnitude's nearest share in registers. The magnitudes are cut into
// ranges: those of the share 0 (of the map with a sign), the decades, and those of the share 1. The
// low 5 bits of the exponent name the range, because at most one range begins in a binade.
struct Lookup {
    alignas(64) float begins[32];        // where a range begins in the binade; infinite: none does
    alignas(64) std::int32_t range[32];  // that of the binade's first magnitude
    // Of each range: number = factor * magnitude + offset, at most `last`, cut to a whole number.
    alignas(64) float factor[16], offset[16], last[16];
    float least;  // smaller magnitudes count as this one
};

// The range 0 is that of the share 0.
constexpr float begin_of_range(DynamicMap map, int range) noexcept {
    using namespace moment_codes;
    const bool to_zero = map == DynamicMap::with_sign;
    if (range == 1)
        return to_zero ? static_cast<float>(share_of_number(map, decade_size(map, 0)) / 2) : 0.0f;
    return static_cast<float>(least_share(map, decade_size(map, range - 1)));
}

constexpr Lookup lookup_of(DynamicMap map) {
    using namespace moment_codes;
    constexpr int ranges = decades + 2;
    Lookup lookup{};
    double from = 0x1p-31;
    for (int binade = 0; binade < 32; ++binade, from *= 2) {
        lookup.begins[binade] = std::numeric_limits<float>::infinity();
        for (int range = 1; range < ranges; ++range) {
            const double begin{begin_of_range(map, range)};
            if (begin <= from)
                lookup.range[binade] = range;
            else if (begin < 2 * from)
                lookup.begins[binade] = static_cast<float>(begin);
        }
    }
    for (int d = 0; d < decades; ++d) {
        const Decade decade = decade_of(map, d);
        lookup.factor[d + 1] = decade.factor;
        lookup.offset[d + 1] = static_cast<float>(decade.size) * (8.0f / 9.0f);
        lookup.last[d + 1] = static_cast<float>(2 * decade.size) - 0.5f;
    }
    lookup.offset[ranges - 1] = lookup.last[ranges - 1] = static_cast<float>(number_of_one(map));
    // The first decade's lower end gives its first number, smaller magnitudes would give less.
    lookup.least =
        map == DynamicMap::with_sign ? 0x1p-31f : static_cast<float>(0.1000001 / inverse_end(0));
    return lookup;
}
template <DynamicMap map>
constexpr Lookup lookup = lookup_of(map);

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i nearest_numbers(
    __m512 magnitude) {
    constexpr const Lookup& t = lookup<map>;
    const __m512 x = _mm512_max_ps(magnitude, _mm512_set1_ps(t.least));
    const __m512i binade = _mm512_srli_epi32(_mm512_castps_si512(x), 23);
    const __m512 begins = of_run(t.begins, binade);
    __m512i range = _mm512_permutex2var_epi32(_mm512_load_si512(t.range), binade,
                                              _mm512_load_si512(t.range + 16));
    range = _mm512_mask_add_epi32(range, _mm512_cmp_ps_mask(x, begins, _CMP_GE_OQ), range,
                                  _mm512_set1_epi32(1));
    const __m512 factor = _mm512_permutexvar_ps(range, _mm512_load_ps(t.factor));
    const __m512 offset = _mm512_permutexvar_ps(range, _mm512_load_ps(t.offset));
    const __m512 last = _mm512_permutexvar_ps(range, _mm512_load_ps(t.last));
    const __m512i number =
        _mm512_cvttps_epi32(_mm512_min_ps(_mm512_fmadd_ps(x, factor, offset), last));
    if constexpr (map == DynamicMap::with_sign) return number;
    return _mm512_mask_mov_epi32(_mm512_set1_epi32(1),
                                 _mm512_cmp_ps_mask(magnitude, _mm512_setzero_ps(), _CMP_GT_OQ),
                                 number);
}

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i codes_of(__m512 share) {
    const __m512i zero = _mm512_set1_epi32(moment_codes::code_of_number_0(map));
    if constexpr (map == DynamicMap::without_sign)
        return _mm512_add_epi32(nearest_numbers<map>(share), zero);
    const __m512i number = nearest_numbers<map>(_mm512_abs_ps(share));
    const __m512i negative = _mm512_srai_epi32(_mm512_castps_si512(share), 31);
    const __m512i with_sign = _mm512_sub_epi32(_mm512_xor_si512(number, negative), negative);
    // -1 has no code, and gets that of the smallest share.
    return _mm512_max_epi32(_mm512_add_epi32(with_sign, zero), _mm512_setzero_si512());
}

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void encode_wide(const float* values,
                                                                              float inverse,
                                                                              std::int64_t size,
                                                                              std::uint8_t* codes) {
    const __m512 inverses = _mm512_set1_ps(inverse);
    std::int64_t i = 0;
    for (; i + 16 <= size; i += 16) {
        const __m512 share = _mm512_mul_ps(_mm512_loadu_ps(values + i), inverses);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i),
                         _mm512_cvtepi32_epi8(codes_of<map>(share)));
    }
    if (i == size) return;
    const auto lanes = static_cast<__mmask16>((1u << (size - i)) - 1);
    const __m512 last = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, values + i), inverses);
    _mm_mask_storeu_epi8(codes + i, lanes, _mm512_cvtepi32_epi8(codes_of<map>(last)));
}

// The functions of a cell, once for each instruction set.
using Map = DynamicMap;

[[gnu::target("default")]] void decode_cell(Map map, const std::uint8_t* codes, float scale,
                                            std::int64_t size, float* values) {
    map == Map::with_sign ? decode_any<Map::with_sign>(codes, scale, size, values)
                          : decode_any<Map::without_sign>(codes, scale, size, values);
}
[[gnu::target("arch=x86-64-v3")]] void decode_cell(Map map, const std::uint8_t* codes, float scale,
                                                   std::int64_t size, float* values) {
    map == Map::with_sign ? decode_any<Map::with_sign>(codes, scale, size, values)
                          : decode_any<Map::without_sign>(codes, scale, size, values);
}
[[gnu::target("arch=x86-64-v4")]] void decode_cell(Map map, const std::uint8_t* codes, float scale,
                                                   std::int64_t size, float* values) {
    if (__builtin_cpu_supports("avx512vbmi") != 0)
        return map == Map::with_sign
                   ? decode_by_bytes<Map::with_sign>(codes, scale, size, values)
                   : decode_by_bytes<Map::without_sign>(codes, scale, size, values);
    map == Map::with_sign ? decode_wide<Map::with_sign>(codes, scale, size, values)
                          : decode_wide<Map::without_sign>(codes, scale, size, values);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float largest(
    const float* values, std::int64_t size) {
    return largest_any(values, size);
}

[[gnu::target("default")]] void encode_cell(Map map, const float* values, float inverse,
                                            std::int64_t size, std::uint8_t* codes) {
    map == Map::with_sign ? encode_any<Map::with_sign>(values, inverse, size, codes)
                          : encode_any<Map::without_sign>(values, inverse, size, codes);
}
[[gnu::target("arch=x86-64-v3")]] void encode_cell(Map map, const float* values, float inverse,
                                                   std::int64_t size, std::uint8_t* codes) {
    map == Map::with_sign ? encode_any<Map::with_sign>(values, inverse, size, codes)
                          : encode_any<Map::without_sign>(values, inverse, size, codes);
}
[[gnu::target("arch=x86-64-v4")]] void encode_cell(Map map, const float* values, float inverse,
                                                   std::int64_t size, std::uint8_t* codes) {
    map == Map::with_sign ? encode_wide<Map::with_sign>(values, inverse, size, codes)
                          : encode_wide<Map::without_sign>(values, inverse, size, codes);
}

// Calls body(cell, first, size) for each cell.
template <class Body>
void for_each_cell(std::size_t elements, const Body& body) {
    for (std::size_t first = 0; first < elements; first += moment_cell)
        body(first / moment_cell, first, std::min(moment_cell, elements - first));
}

}  // namespace

void decode_moments(DynamicMap map, HostView<const std::uint8_t> codes,
                    HostView<const float> scales, HostView<float> values) {
    require(values.size() == codes.size() && scales.size() == moment_scales(codes.size()),
            "decode_moments: sizes differ");
    for_each_cell(codes.size(), [&](std::size_t cell, std::size_t first, std::size_t size) {
        decode_cell(map, codes.data() + first, scales[cell], static_cast<std::int64_t>(size),
                    values.data() + first);
    });
}

void encode_moments(DynamicMap map, HostView<const float> values, HostView<std::uint8_t> codes,
                    HostView<float> scales) {
    require(values.size() == codes.size() && scales.size() == moment_scales(codes.size()),
            "encode_moments: sizes differ");
    for_each_cell(codes.size(), [&](std::size_t cell, std::size_t first, std::size_t size) {
        const auto count = static_cast<std::int64_t>(size);
        const float scale = largest(values.data() + first, count);
        const float inverse = inverse_scale(scale);
        encode_cell(map, values.data() + first, inverse, count, codes.data() + first);
        scales[cell] = inverse > 0 ? scale : 0.0f;
    });
}

}  // namespace lockstep::kernels
