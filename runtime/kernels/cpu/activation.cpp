// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "runtime/kernels/activation_checks.hpp"
#include "runtime/kernels/cpu/activation_functions.hpp"
#include "runtime/kernels/cpu/avx512/activation_rows.hpp"
#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"

namespace lockstep::kernels {

namespace {

using cpu::derivative;
using cpu::Masking;
using cpu::value;

template <Activation f, Masking masking, class T>
[[gnu::always_inline]] inline void forward_columns(const cpu::RowMask& mask, const T* x, T* y,
                                                   std::int64_t d) {
    alignas(64) float factors[cpu::mask_step];
    for (std::int64_t first = 0; first < d; first += std::min(cpu::column_step<masking>, d)) {
        const std::int64_t n = std::min(cpu::column_step<masking>, d - first);
        if constexpr (masking == Masking::on) cpu::mask_factors(mask, first, n, factors);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) {
            float v = value<f>(cpu::load(x[first + j]));
            if constexpr (masking == Masking::on) v *= factors[j];
            cpu::store(y[first + j], v);
        }
    }
}

// Also adds the row of dx to `sums`.
template <Activation f, Masking masking, class T>
[[gnu::always_inline]] inline void backward_columns(const cpu::RowMask& mask, const T* x,
                                                    const T* dy, T* dx, float* sums,
                                                    std::int64_t d) {
    alignas(64) float factors[cpu::mask_step];
    for (std::int64_t first = 0; first < d; first += std::min(cpu::column_step<masking>, d)) {
        const std::int64_t n = std::min(cpu::column_step<masking>, d - first);
        if constexpr (masking == Masking::on) cpu::mask_factors(mask, first, n, factors);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) {
            float v = derivative<f>(cpu::load(x[first + j])) * cpu::load(dy[first + j]);
            if constexpr (masking == Masking::on) v *= factors[j];
            sums[first + j] += cpu::store_rounded(dx[first + j], v);
        }
    }
}

// Calls `body` with the activation and the masking as compile-time constants.
template <class Body>
[[gnu::always_inline]] inline void specialised(Activation f, const cpu::RowMask& mask,
                                               const Body& body) {
    using enum Activation;
    const bool masked = mask.threshold != 0;
    if (f == relu && masked) return body.template operator()<relu, Masking::on>();
    if (f == relu) return body.template operator()<relu, Masking::off>();
    if (f == gelu_tanh && masked) return body.template operator()<gelu_tanh, Masking::on>();
    if (f == gelu_tanh) return body.template operator()<gelu_tanh, Masking::off>();
    if (f == silu && masked) return body.template operator()<silu, Masking::on>();
    if (f == silu) return body.template operator()<silu, Masking::off>();
    if (masked) return body.template operator()<gelu_erf, Masking::on>();
    body.template operator()<gelu_erf, Masking::off>();
}

template <class T>
[[gnu::always_inline]] inline void forward_any(Activation f, const cpu::RowMask& mask, const T* x,
                                               T* y, std::int64_t d) {
    specialised(
        f, mask, [&]<Activation g, Masking masking>() __attribute__((always_inline)) {
            forward_columns<g, masking>(mask, x, y, d);
        });
}

template <class T>
[[gnu::always_inline]] inline void backward_any(Activation f, const cpu::RowMask& mask, const T* x,
                                                const T* dy, T* dx, float* sums, std::int64_t d) {
    specialised(
        f, mask, [&]<Activation g, Masking masking>() __attribute__((always_inline)) {
            backward_columns<g, masking>(mask, x, dy, dx, sums, d);
        });
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void forward_row(
    Activation f, const cpu::RowMask& mask, const float* x, float* y, std::int64_t d) {
    forward_any(f, mask, x, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_forward_row(
    Activation f, const cpu::RowMask& mask, const bf16* x, bf16* y, std::int64_t d) {
    forward_any(f, mask, x, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void backward_row(
    Activation f, const cpu::RowMask& mask, const float* x, const float* dy, float* dx, float* sums,
    std::int64_t d) {
    backward_any(f, mask, x, dy, dx, sums, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_backward_row(
    Activation f, const cpu::RowMask& mask, const bf16* x, const bf16* dy, bf16* dx, float* sums,
    std::int64_t d) {
    backward_any(f, mask, x, dy, dx, sums, d);
}

// The compiler's vector code for bf16 takes twice as long as that by hand.
bool by_hand(Activation f, const cpu::RowMask& mask) {
    return f == Activation::gelu_tanh && mask.threshold == 0 && cpu::avx512::usable();
}

void forward_row(Activation f, const cpu::RowMask& mask, const bf16* x, bf16* y, std::int64_t d) {
    if (by_hand(f, mask)) return cpu::avx512::gelu_row(x, y, d);
    portable_forward_row(f, mask, x, y, d);
}
void backward_row(Activation f, const cpu::RowMask& mask, const bf16* x, const bf16* dy, bf16* dx,
                  float* sums, std::int64_t d) {
    if (by_hand(f, mask)) return cpu::avx512::gelu_backward_row(x, dy, dx, sums, d);
    portable_backward_row(f, mask, x, dy, dx, sums, d);
}

template <class T>
[[gnu::always_inline]] inline void where_positive(const T* y, const T* dy, float scale, T* dx,
                                                  std::int64_t d) {
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j)
        cpu::store(dx[j], cpu::load(y[j]) > 0.0f ? cpu::load(dy[j]) * scale : 0.0f);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_relu_row(
    const float* y, const float* dy, float scale, float* dx, std::int64_t d) {
    where_positive(y, dy, scale, dx, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void portable_relu_row(
    const bf16* y, const bf16* dy, float scale, bf16* dx, std::int64_t d) {
    where_positive(y, dy, scale, dx, d);
}

// Also adds the row of dx to `sums`, in a loop of its own: inside the other it would slow bf16
// down.
template <class T>
void relu_row(const T* y, const T* dy, float scale, T* dx, float* sums, std::int64_t d) {
    if constexpr (std::is_same_v<T, bf16>) {
        if (cpu::avx512::usable()) return cpu::avx512::relu_backward_row(y, dy, scale, dx, sums, d);
    }
    portable_relu_row(y, dy, scale, dx, d);
    cpu::add_to_sums(dx, sums, d);
}

}  // namespace

template <class T>
void activation_forward(CpuContext& ctx, Activation f, const Dropout& site,
                        TokenCoordinates<HostSpace> coordinates, HostMatrix<const T> x,
                        HostMatrix<T> y) {
    require(same_shape(x, y), "activation: shapes differ");
    const cpu::RowMask mask = cpu::row_mask(site);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        forward_row(f, cpu::at(mask, coordinates, i), x.data + i * x.stride, y.data + i * y.stride,
                    x.cols);
    });
}

template <class T>
void activation_backward(CpuContext& ctx, const ActivationBackward<T, HostSpace>& o) {
    check(o);
    const cpu::RowMask mask = cpu::row_mask(o.dropout);
    cpu::column_sums(ctx, o.x.rows, o.x.cols, o.db, o.into, [&](std::int64_t i, float* sums) {
        backward_row(o.f, cpu::at(mask, o.coordinates, i), o.x.data + i * o.x.stride,
                     o.dy.data + i * o.dy.stride, o.dx.data + i * o.dx.stride, sums, o.x.cols);
    });
}

template <class T>
void relu_backward(CpuContext& ctx, const ReluBackward<T, HostSpace>& o) {
    check(o);
    const float scale = cpu::row_mask(o.dropout).scale;
    const std::int64_t cols = o.y.cols;
    cpu::column_sums(ctx, o.y.rows, cols, o.db, o.into, [&](std::int64_t i, float* sums) {
        relu_row(o.y.data + i * o.y.stride, o.dy.data + i * o.dy.stride, scale,
                 o.dx.data + i * o.dx.stride, sums, cols);
    });
}

template void activation_forward(CpuContext&, Activation, const Dropout&,
                                 TokenCoordinates<HostSpace>, HostMatrix<const float>,
                                 HostMatrix<float>);
template void activation_forward(CpuContext&, Activation, const Dropout&,
                                 TokenCoordinates<HostSpace>, HostMatrix<const bf16>,
                                 HostMatrix<bf16>);
template void activation_backward(CpuContext&, const ActivationBackward<float, HostSpace>&);
template void activation_backward(CpuContext&, const ActivationBackward<bf16, HostSpace>&);

template void relu_backward(CpuContext&, const ReluBackward<float, HostSpace>&);
template void relu_backward(CpuContext&, const ReluBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
