// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/norm_rows.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/avx512/norm_rows.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels::cpu {

namespace {

// All loops work element by element, so operands may be the same memory.
template <Masking masking, class T>
[[gnu::always_inline]] inline void residual_columns(const RowMask& mask, const T* x,
                                                    const T* branch, T* sum, std::int64_t d) {
    alignas(64) float factors[mask_step];
    for (std::int64_t first = 0; first < d; first += std::min(column_step<masking>, d)) {
        const std::int64_t n = std::min(column_step<masking>, d - first);
        if constexpr (masking == Masking::on) mask_factors(mask, first, n, factors);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) {
            float b = load(branch[first + j]);
            if constexpr (masking == Masking::on) b *= factors[j];
            store(sum[first + j], load(x[first + j]) + b);
        }
    }
}

template <class T>
[[gnu::always_inline]] inline void residual(const RowMask& mask, const T* x, const T* branch,
                                            T* sum, std::int64_t d) {
    if (mask.threshold != 0) return residual_columns<Masking::on>(mask, x, branch, sum, d);
    residual_columns<Masking::off>(mask, x, branch, sum, d);
}

// Calculates the mean first, then the variance around it: E[x^2] - E[x]^2 loses all precision if
// |mean| >> std. The row stays in the first-level cache between the loops.
template <class T>
[[gnu::always_inline]] inline Moments normalise(const T* x, const T* gamma, const T* beta,
                                                float epsilon, T* y, std::int64_t d) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += load(x[j]);
    const float mean = sum / static_cast<float>(d);
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t j = 0; j < d; ++j) {
        const float centred = load(x[j]) - mean;
        squares += centred * centred;
    }
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(d) + epsilon);
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j)
        store(y[j], (load(x[j]) - mean) * rstd * load(gamma[j]) + load(beta[j]));
    return {mean, rstd};
}

// Rounds x to T.
[[gnu::always_inline]] inline float rounded_to(float, float x) noexcept { return x; }
[[gnu::always_inline]] inline float rounded_to(bf16 to, float x) noexcept {
    return store_rounded(to, x);
}

template <class T>
[[gnu::always_inline]] inline float rms_normalise(const T* x, const T* gamma, float epsilon, T* y,
                                                  std::int64_t d) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t j = 0; j < d; ++j) squares += load(x[j]) * load(x[j]);
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(d) + epsilon);
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j)
        store(y[j], rounded_to(T{}, load(x[j]) * rstd) * load(gamma[j]));
    return rstd;
}

// Writes a row of dx, whose elements gradient(j) gives.
template <class T, class Gradient>
[[gnu::always_inline]] inline void write_gradient(const T* d_sum, T* dx, std::int64_t d,
                                                  const Gradient& gradient) {
    if (d_sum != nullptr) {
#pragma omp simd
        for (std::int64_t j = 0; j < d; ++j) store(dx[j], gradient(j) + load(d_sum[j]));
    } else {
#pragma omp simd
        for (std::int64_t j = 0; j < d; ++j) store(dx[j], gradient(j));
    }
}

// Let h = (sum - mean) rstd and g = dy gamma; then d(sum) = rstd (g - mean(g) - h mean(g h)).
template <class T>
[[gnu::always_inline]] inline void backward(const NormGradients<T>& row, Moments moments,
                                            std::int64_t d) {
    const T *dy = row.dy, *sum = row.sum, *gamma = row.gamma, *d_sum = row.d_sum;
    float *dgamma = row.dgamma, *dbeta = row.dbeta;
    const float mean = moments.mean, rstd = moments.rstd;
    float total_g = 0, total_gh = 0;
#pragma omp simd reduction(+ : total_g, total_gh)
    for (std::int64_t j = 0; j < d; ++j) {
        const float h = (load(sum[j]) - mean) * rstd;
        const float g = load(dy[j]) * load(gamma[j]);
        total_g += g;
        total_gh += g * h;
        dgamma[j] += load(dy[j]) * h;
        dbeta[j] += load(dy[j]);
    }
    const float mean_g = total_g / static_cast<float>(d);
    const float mean_gh = total_gh / static_cast<float>(d);
    const auto gradient = [=](std::int64_t j) __attribute__((always_inline)) {
        const float h = (load(sum[j]) - mean) * rstd;
        return rstd * (load(dy[j]) * load(gamma[j]) - mean_g - h * mean_gh);
    };
    write_gradient(d_sum, row.dx, d, gradient);
}

// Let h = sum rstd and g = dy gamma; then d(sum) = rstd (g - h mean(g h)).
template <class T>
[[gnu::always_inline]] inline void rms_backward(const NormGradients<T>& row, float rstd,
                                                std::int64_t d) {
    const T *dy = row.dy, *sum = row.sum, *gamma = row.gamma;
    float* const dgamma = row.dgamma;
    float total_gh = 0;
#pragma omp simd reduction(+ : total_gh)
    for (std::int64_t j = 0; j < d; ++j) {
        const float h = load(sum[j]) * rstd;
        total_gh += load(dy[j]) * load(gamma[j]) * h;
        dgamma[j] += load(dy[j]) * h;
    }
    const float mean_gh = total_gh / static_cast<float>(d);
    const auto gradient = [=](std::int64_t j) __attribute__((always_inline)) {
        return rstd * (load(dy[j]) * load(gamma[j]) - load(sum[j]) * rstd * mean_gh);
    };
    write_gradient(row.d_sum, row.dx, d, gradient);
}

// Computes d_branch = dx * mask.
template <class T>
[[gnu::always_inline]] inline void branch(const RowMask& mask, const NormGradients<T>& row,
                                          std::int64_t d) {
    const T* dx = row.dx;
    if (row.d_branch == nullptr) return;
    if (mask.threshold == 0) {
        std::copy_n(dx, d, row.d_branch);
        return;
    }
    alignas(64) float factors[mask_step];
    for (std::int64_t first = 0; first < d; first += mask_step) {
        const std::int64_t n = std::min(mask_step, d - first);
        mask_factors(mask, first, n, factors);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
            store(row.d_branch[first + j], load(dx[first + j]) * factors[j]);
    }
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_residual_row(
    const RowMask& mask, const bf16* x, const bf16* branch, bf16* sum, std::int64_t d) {
    residual(mask, x, branch, sum, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] Moments portable_norm_row(
    const bf16* x, const bf16* gamma, const bf16* beta, float epsilon, bf16* y, std::int64_t d) {
    return normalise(x, gamma, beta, epsilon, y, d);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gradient_row(
    const NormGradients<float>& row, Moments moments, std::int64_t d) {
    backward(row, moments, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gradient_row(
    const NormGradients<bf16>& row, Moments moments, std::int64_t d) {
    backward(row, moments, d);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void rms_gradient_row(
    const NormGradients<float>& row, float rstd, std::int64_t d) {
    rms_backward(row, rstd, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void rms_gradient_row(
    const NormGradients<bf16>& row, float rstd, std::int64_t d) {
    rms_backward(row, rstd, d);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void branch_row(
    const RowMask& mask, const NormGradients<float>& row, std::int64_t d) {
    branch(mask, row, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void branch_row(
    const RowMask& mask, const NormGradients<bf16>& row, std::int64_t d) {
    branch(mask, row, d);
}

// Calculates what follows from a row of dx.
template <class T>
void backward_branch(const RowMask& mask, const NormGradients<T>& row, std::int64_t d) {
    branch_row(mask, row, d);
    if (row.dbias != nullptr)
        add_to_sums(row.d_branch == nullptr ? row.dx : row.d_branch, row.dbias, d);
}

template <class T>
void backward_row_by_parts(const RowMask& mask, const NormGradients<T>& row, Moments moments,
                           std::int64_t d) {
    gradient_row(row, moments, d);
    backward_branch(mask, row, d);
}

}  // namespace

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void residual_row(
    const RowMask& mask, const float* x, const float* branch, float* sum, std::int64_t d) {
    residual(mask, x, branch, sum, d);
}
void residual_row(const RowMask& mask, const bf16* x, const bf16* branch, bf16* sum,
                  std::int64_t d) {
    if (avx512::usable()) return avx512::residual_row(mask, x, branch, sum, d);
    portable_residual_row(mask, x, branch, sum, d);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] Moments norm_row(
    const float* x, const float* gamma, const float* beta, float epsilon, float* y,
    std::int64_t d) {
    return normalise(x, gamma, beta, epsilon, y, d);
}
Moments norm_row(const bf16* x, const bf16* gamma, const bf16* beta, float epsilon, bf16* y,
                 std::int64_t d) {
    if (avx512::usable()) return avx512::norm_row(x, gamma, beta, epsilon, y, d);
    return portable_norm_row(x, gamma, beta, epsilon, y, d);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float rms_norm_row(
    const float* x, const float* gamma, float epsilon, float* y, std::int64_t d) {
    return rms_normalise(x, gamma, epsilon, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float rms_norm_row(
    const bf16* x, const bf16* gamma, float epsilon, bf16* y, std::int64_t d) {
    return rms_normalise(x, gamma, epsilon, y, d);
}

void rms_norm_backward_row(const RowMask& mask, const NormGradients<float>& row, float rstd,
                           std::int64_t d) {
    rms_gradient_row(row, rstd, d);
    backward_branch(mask, row, d);
}
void rms_norm_backward_row(const RowMask& mask, const NormGradients<bf16>& row, float rstd,
                           std::int64_t d) {
    rms_gradient_row(row, rstd, d);
    backward_branch(mask, row, d);
}

void norm_backward_row(const RowMask& mask, const NormGradients<float>& row, Moments moments,
                       std::int64_t d) {
    backward_row_by_parts(mask, row, moments, d);
}
void norm_backward_row(const RowMask& mask, const NormGradients<bf16>& row, Moments moments,
                       std::int64_t d) {
    if (avx512::usable()) return avx512::norm_backward_row(mask, row, moments, d);
    backward_row_by_parts(mask, row, moments, d);
}

}  // namespace lockstep::kernels::cpu
