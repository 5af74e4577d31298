// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/dropout.hpp"

#include "runtime/kernels/cpu/avx512/dropout_rows.hpp"
#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels {

namespace {

template <class T>
[[gnu::always_inline]] inline void mask_row(const cpu::RowMask& mask, const T* x, T* y,
                                            std::int64_t d) {
    alignas(64) float factors[cpu::mask_step];
    for (std::int64_t first = 0; first < d; first += cpu::mask_step) {
        const std::int64_t n = std::min(cpu::mask_step, d - first);
        cpu::mask_factors(mask, first, n, factors);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
            cpu::store(y[first + j], cpu::load(x[first + j]) * factors[j]);
    }
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void dropout_row(
    const cpu::RowMask& mask, const float* x, float* y, std::int64_t d) {
    mask_row(mask, x, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_dropout_row(
    const cpu::RowMask& mask, const bf16* x, bf16* y, std::int64_t d) {
    mask_row(mask, x, y, d);
}
void dropout_row(const cpu::RowMask& mask, const bf16* x, bf16* y, std::int64_t d) {
    if (cpu::avx512::usable()) return cpu::avx512::dropout_row(mask, 0, x, y, d);
    portable_dropout_row(mask, x, y, d);
}

}  // namespace

template <class T>
void dropout(CpuContext& ctx, const Dropout& site, TokenCoordinates<HostSpace> coordinates,
             HostMatrix<const T> x, HostMatrix<T> y) {
    require(x.rows == y.rows && x.cols == y.cols, "dropout: shapes differ");
    if (!site.active() && x.data == y.data) return;
    const cpu::RowMask mask = cpu::row_mask(site);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        const T* from = x.data + i * x.stride;
        T* to = y.data + i * y.stride;
        if (site.active())
            dropout_row(cpu::at(mask, coordinates, i), from, to, x.cols);
        else
            std::copy_n(from, x.cols, to);
    });
}

template void dropout(CpuContext&, const Dropout&, TokenCoordinates<HostSpace>,
                      HostMatrix<const float>, HostMatrix<float>);
template void dropout(CpuContext&, const Dropout&, TokenCoordinates<HostSpace>,
                      HostMatrix<const bf16>, HostMatrix<bf16>);

}  // namespace lockstep::kernels
