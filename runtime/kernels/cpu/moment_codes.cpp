// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/moment_codes.hpp"

#include <immintrin.h>

#include <algorithm>
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

// AVX-512 finds the decade of a magnitude in registers, by the low 5 bits of its exponent: at most
// one decade begins in a binade.
struct Lookup {
    alignas(64) float begins[32];  // where a decade begins in the binade; infinite: none does
    alignas(64) std::int32_t decade[32];  // that of the binade's first magnitude
    // Of each decade: number = factor * magnitude + offset, at most `last`, cut to a whole number.
    alignas(64) float factor[16], offset[16], last[16];
};

constexpr Lookup lookup_of(DynamicMap map) {
    using namespace moment_codes;
    Lookup lookup{};
    double from = 0x1p-31;
    for (int binade = 0; binade < 32; ++binade, from *= 2) {
        lookup.begins[binade] = std::numeric_limits<float>::infinity();
        for (int d = 1; d < decades; ++d) {
            const auto least = static_cast<float>(least_share(map, decade_size(map, d)));
            if (double{least} <= from)
                lookup.decade[binade] = d;
            else if (double{least} < 2 * from)
                lookup.begins[binade] = least;
        }
    }
    for (int d = 0; d < decades; ++d) {
        const Decade decade = decade_of(map, d);
        lookup.factor[d] = decade.factor;
        lookup.offset[d] = static_cast<float>(decade.size) * (8.0f / 9.0f);
        lookup.last[d] = static_cast<float>(2 * decade.size) - 0.5f;
    }
    return lookup;
}
template <DynamicMap map>
constexpr Lookup lookup = lookup_of(map);

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i nearest_numbers(
    __m512 share, __m512 magnitude) {
    using namespace moment_codes;
    constexpr const Lookup& t = lookup<map>;
    constexpr int one = number_of_one(map), first = decade_size(map, 0);
    constexpr auto least_of_one = static_cast<float>(least_share(map, one));
    constexpr auto half_of_first = static_cast<float>(share_of_number(map, first) / 2);
    const __m512 x = _mm512_max_ps(magnitude, _mm512_set1_ps(0x1p-31f));
    const __m512i binade = _mm512_srli_epi32(_mm512_castps_si512(x), 23);
    const __m512 begins =
        _mm512_permutex2var_ps(_mm512_load_ps(t.begins), binade, _mm512_load_ps(t.begins + 16));
    __m512i decade = _mm512_permutex2var_epi32(_mm512_load_si512(t.decade), binade,
                                               _mm512_load_si512(t.decade + 16));
    decade = _mm512_mask_add_epi32(decade, _mm512_cmp_ps_mask(x, begins, _CMP_GE_OQ), decade,
                                   _mm512_set1_epi32(1));
    const __m512 factor = _mm512_permutexvar_ps(decade, _mm512_load_ps(t.factor));
    const __m512 offset = _mm512_permutexvar_ps(decade, _mm512_load_ps(t.offset));
    const __m512 last = _mm512_permutexvar_ps(decade, _mm512_load_ps(t.last));
    __m512i number = _mm512_cvttps_epi32(_mm512_min_ps(_mm512_fmadd_ps(x, factor, offset), last));
    number = _mm512_max_epi32(number, _mm512_set1_epi32(first));
    number = _mm512_mask_mov_epi32(
        number, _mm512_cmp_ps_mask(share, _mm512_set1_ps(least_of_one), _CMP_GE_OQ),
        _mm512_set1_epi32(one));
    if constexpr (map == DynamicMap::with_sign)
        return _mm512_maskz_mov_epi32(
            _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(half_of_first), _CMP_GE_OQ), number);
    else
        return _mm512_mask_mov_epi32(_mm512_set1_epi32(1),
                                     _mm512_cmp_ps_mask(magnitude, _mm512_setzero_ps(), _CMP_GT_OQ),
                                     number);
}

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i codes_of(__m512 share) {
    const __m512i zero = _mm512_set1_epi32(moment_codes::code_of_number_0(map));
    if constexpr (map == DynamicMap::without_sign)
        return _mm512_add_epi32(nearest_numbers<map>(share, share), zero);
    const __m512i number = nearest_numbers<map>(share, _mm512_abs_ps(share));
    const __m512i negative = _mm512_srai_epi32(_mm512_castps_si512(share), 31);
    return _mm512_add_epi32(_mm512_sub_epi32(_mm512_xor_si512(number, negative), negative), zero);
}

template <DynamicMap map>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void encode_wide(const float* values,
                                                                              float inverse,
                                                                              std::int64_t size,
                                                                              std::uint8_t* codes) {
    for (std::int64_t i = 0; i < size; i += 16) {
        const auto lanes = static_cast<__mmask16>(size - i < 16 ? (1u << (size - i)) - 1 : 0xFFFFu);
        const __m512 share =
            _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, values + i), _mm512_set1_ps(inverse));
        _mm512_mask_cvtepi32_storeu_epi8(codes + i, lanes, codes_of<map>(share));
    }
}

// The functions of a cell, once for each instruction set.
using Map = DynamicMap;

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void decode_cell(
    Map map, const std::uint8_t* codes, float scale, std::int64_t size, float* values) {
    map == Map::with_sign ? decode_any<Map::with_sign>(codes, scale, size, values)
                          : decode_any<Map::without_sign>(codes, scale, size, values);
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
