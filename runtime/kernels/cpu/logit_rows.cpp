// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/logit_rows.hpp"

#include <algorithm>

#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/avx512/loss_rows.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels::cpu {

namespace {

// A chunk of 16-bit logits fits the first-level cache in fp32, too: memory is read once, although
// the maximum is needed before the sum. Sums over chunks lose fewer bits than one over a row.
constexpr std::int64_t chunk = 2048;

[[gnu::always_inline]] inline float shift_of(float largest) noexcept {
    return largest == -std::numeric_limits<float>::infinity() ? 0.0f : largest;
}

// Calls body(first, count) for the chunks of a row.
template <class Body>
void for_chunks(std::int64_t n, const Body& body) {
    for (std::int64_t first = 0; first < n; first += chunk) body(first, std::min(chunk, n - first));
}

// Writes the values in fp32. They are copied because larger loops over 16-bit elements become
// vector code of half the speed.
[[gnu::always_inline]] inline void widen(const bf16* x, std::int64_t n, float* values) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) values[j] = load(x[j]);
}

[[gnu::always_inline]] inline void take_chunk(const bf16* logits, std::int64_t n,
                                              RowStatistics& row) {
    alignas(64) float x[chunk];
    widen(logits, n, x);
    float largest = row.largest, sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        largest = x[j] > largest ? x[j] : largest;
        sum += x[j];
    }
    const float shift = shift_of(largest);
    float exponentials = 0;
#pragma omp simd reduction(+ : exponentials)
    for (std::int64_t j = 0; j < n; ++j) exponentials += exponential(x[j] - shift);
    row.exponentials = row.exponentials * exponential(row.largest - shift) + exponentials;
    row.largest = largest;
    row.sum += sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] RowStatistics
portable_statistics(const bf16* x, std::int64_t n) {
    RowStatistics row;
    for (std::int64_t first = 0; first < n; first += chunk)
        take_chunk(x + first, std::min(chunk, n - first), row);
    return row;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] avx512::LargestAndSum
portable_largest_and_sum(const float* x, std::int64_t n) {
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        largest = x[j] > largest ? x[j] : largest;
        sum += x[j];
    }
    return {largest, sum};
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float portable_exponentiate(
    const float* x, float* y, std::int64_t n, float shift) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        y[j] = exponential(x[j] - shift);
        sum += y[j];
    }
    return sum;
}

float exponentiate_chunk(const float* x, float* y, std::int64_t n, float shift) {
    return avx512::usable() ? avx512::exponentiate(x, y, n, shift)
                            : portable_exponentiate(x, y, n, shift);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_gradient_row(
    bf16* logits, std::int64_t size, float shift, float scale, float uniform) {
    alignas(64) float space[chunk];
    for (std::int64_t first = 0; first < size; first += chunk) {
        const std::int64_t n = std::min(chunk, size - first);
        widen(logits + first, n, space);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
            space[j] = scale * exponential(space[j] - shift) - uniform;
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) store(logits[first + j], space[j]);
    }
}

}  // namespace

RowStatistics statistics(const bf16* x, std::int64_t n) {
    if (!avx512::usable()) return portable_statistics(x, n);
    RowStatistics row;
    for_chunks(n, [&](std::int64_t first, std::int64_t count) {
        const auto [largest, sum] = avx512::largest_and_sum(x + first, count);
        const float before = row.largest;
        row.largest = std::max(before, largest);
        const float shift = shift_of(row.largest);
        row.exponentials = row.exponentials * exponential(before - shift) +
                           avx512::sum_of_exponentials(x + first, count, shift);
        row.sum += sum;
    });
    return row;
}

RowStatistics statistics(const float* x, std::int64_t n) {
    alignas(64) float unused[chunk];
    RowStatistics row = largest_and_sum(x, n);
    const float shift = shift_of(row.largest);
    for_chunks(n, [&](std::int64_t first, std::int64_t count) {
        row.exponentials += exponentiate_chunk(x + first, unused, count, shift);
    });
    return row;
}

RowStatistics largest_and_sum(const float* x, std::int64_t n) {
    RowStatistics row;
    for_chunks(n, [&](std::int64_t first, std::int64_t count) {
        const auto [largest, sum] = avx512::usable() ? avx512::largest_and_sum(x + first, count)
                                                     : portable_largest_and_sum(x + first, count);
        row.largest = std::max(row.largest, largest);
        row.sum += sum;
    });
    return row;
}

float exponentiate(const float* x, float* y, std::int64_t n, float largest) {
    float total = 0;
    for_chunks(n, [&](std::int64_t first, std::int64_t count) {
        total += exponentiate_chunk(x + first, y + first, count, shift_of(largest));
    });
    return total;
}

void gradient_row(bf16* x, std::int64_t n, float largest, float scale, float uniform) {
    if (avx512::usable())
        avx512::gradient_row(x, n, largest, scale, uniform);
    else
        portable_gradient_row(x, n, largest, scale, uniform);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gradient_row(
    float* x, std::int64_t n, float, float scale, float uniform) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) x[j] = scale * x[j] - uniform;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void subtract(float* x,
                                                                                    std::int64_t n,
                                                                                    float largest,
                                                                                    float log_sum) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) x[j] = x[j] - largest - log_sum;
}

}  // namespace lockstep::kernels::cpu
