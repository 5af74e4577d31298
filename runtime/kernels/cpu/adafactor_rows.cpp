// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/adafactor_rows.hpp"

#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels::cpu::adafactor_rows {

namespace {

template <class T>
[[gnu::always_inline]] inline void apply_any(const Apply& how, const Range<T>& range) {
    const float *update = range.update, step = how.step, shrink = how.shrink, beta1 = how.beta1;
    float *moment = range.first_moment, *master = range.master;
    T* compute = range.compute;
    if (moment != nullptr) {
#pragma omp simd
        for (std::int64_t i = 0; i < range.size; ++i) {
            moment[i] = beta1 * moment[i] + (1.0f - beta1) * step * update[i];
            master[i] = master[i] * shrink - moment[i];
        }
    } else {
#pragma omp simd
        for (std::int64_t i = 0; i < range.size; ++i)
            master[i] = master[i] * shrink - step * update[i];
    }
    if (compute == nullptr) return;
#pragma omp simd
    for (std::int64_t i = 0; i < range.size; ++i) store(compute[i], master[i]);
}

}  // namespace

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float add_squares(
    const float* gradient, float gradient_scale, float epsilon, float* column_sums,
    std::int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        const float g = gradient[j] * gradient_scale;
        const float square = g * g + epsilon;
        column_sums[j] += square;
        sum += square;
    }
    return sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float factored_update(
    const float* gradient, float gradient_scale, float row_factor, const float* column_factors,
    float* update, std::int64_t n) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t j = 0; j < n; ++j) {
        const float u = gradient[j] * gradient_scale * (row_factor * column_factors[j]);
        update[j] = u;
        squares += u * u;
    }
    return squares;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float full_update(
    const float* gradient, float gradient_scale, float epsilon, float beta2, float* moment,
    float* update, std::int64_t n) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < n; ++i) {
        const float g = gradient[i] * gradient_scale;
        moment[i] = beta2 * moment[i] + (1.0f - beta2) * (g * g + epsilon);
        const float u = g / __builtin_sqrtf(moment[i]);
        update[i] = u;
        squares += u * u;
    }
    return squares;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void apply(
    const Apply& how, const Range<float>& range) {
    apply_any(how, range);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void apply(
    const Apply& how, const Range<bf16>& range) {
    apply_any(how, range);
}

}  // namespace lockstep::kernels::cpu::adafactor_rows
