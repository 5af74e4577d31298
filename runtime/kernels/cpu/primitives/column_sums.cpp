// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/primitives/column_sums.hpp"

namespace lockstep::kernels::cpu {

namespace {

template <class T>
[[gnu::always_inline]] inline void add_row(const T* x, float* sums, std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) sums[j] += static_cast<float>(x[j]);
}

}  // namespace

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_to_sums(
    const float* x, float* sums, std::int64_t n) {
    add_row(x, sums, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_to_sums(
    const bf16* x, float* sums, std::int64_t n) {
    add_row(x, sums, n);
}

}  // namespace lockstep::kernels::cpu
