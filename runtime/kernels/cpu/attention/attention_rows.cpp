// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/attention_rows.hpp"

#include <algorithm>
#include <limits>

#include "runtime/kernels/cpu/primitives/vector_math.hpp"

// Each of these functions is compiled once per instruction set. The attribute cannot be hidden in a
// constant, so it is repeated.
namespace lockstep::kernels::cpu::rows {
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float maximum(const float* x,
                                                                                    int n) {
    float m = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : m)
    for (int j = 0; j < n; ++j) m = x[j] > m ? x[j] : m;
    return m;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float dot(const float* x,
                                                                                const float* y,
                                                                                int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) sum += x[j] * y[j];
    return sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float dot(const bf16* x,
                                                                                const float* y,
                                                                                int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) sum += static_cast<float>(x[j]) * y[j];
    return sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float dot(const bf16* x,
                                                                                const bf16* y,
                                                                                int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) sum += static_cast<float>(x[j]) * static_cast<float>(y[j]);
    return sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void scale(float* x, int n,
                                                                                 float factor) {
#pragma omp simd
    for (int j = 0; j < n; ++j) x[j] *= factor;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_scaled(
    const float* x, float factor, float* y, int n) {
#pragma omp simd
    for (int j = 0; j < n; ++j) y[j] += factor * x[j];
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_scaled(const bf16* x,
                                                                                      float factor,
                                                                                      float* y,
                                                                                      int n) {
#pragma omp simd
    for (int j = 0; j < n; ++j) y[j] += factor * static_cast<float>(x[j]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(const bf16* x,
                                                                                   float* y,
                                                                                   int n) {
#pragma omp simd
    for (int j = 0; j < n; ++j) y[j] = static_cast<float>(x[j]);
}

void convert(const float* x, float* y, int n) { std::copy_n(x, n, y); }

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(const bf16* x,
                                                                                   bf16* y, int n) {
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) y[j].bits = x[j].bits;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(const float* x,
                                                                                   bf16* y, int n) {
#pragma omp simd
    for (int j = 0; j < n; ++j) store(y[j], x[j]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float exponentials(
    float* x, int n, int columns, float factor, float shift) {
    // Only whole vectors are used: a remainder loop would cost more than the few elements past n.
    const int whole = round_up(n);
    for (int j = n; j < whole; ++j) x[j] = -std::numeric_limits<float>::infinity();
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < whole; ++j) {
        x[j] = exponential(x[j] * factor - shift);
        sum += x[j];
    }
    std::fill(x + n, x + round_up(columns), 0.0f);
    return sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void multiply(
    float* x, const float* factors, int n) {
#pragma omp simd
    for (int j = 0; j < n; ++j) x[j] *= factors[j];
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void softmax_backward(
    float* p, float* dp, const float* factors, int n, float delta, float scale) {
    if (factors == nullptr) {
#pragma omp simd
        for (int j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - delta) * scale;
        return;
    }
#pragma omp simd
    for (int j = 0; j < n; ++j) {
        dp[j] = p[j] * (dp[j] * factors[j] - delta) * scale;
        p[j] *= factors[j];
    }
}

}  // namespace lockstep::kernels::cpu::rows
