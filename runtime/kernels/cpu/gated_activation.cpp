// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/gated_activation.hpp"

#include "runtime/kernels/activation_checks.hpp"
#include "runtime/kernels/cpu/activation_functions.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"

namespace lockstep::kernels {

namespace {

// Calls `body` with the activation as a compile-time constant.
template <class Body>
[[gnu::always_inline]] inline void with_function(Activation f, const Body& body) {
    using enum Activation;
    if (f == silu) return body.template operator()<silu>();
    if (f == gelu_tanh) return body.template operator()<gelu_tanh>();
    if (f == gelu_erf) return body.template operator()<gelu_erf>();
    body.template operator()<relu>();
}

template <class T>
[[gnu::always_inline]] inline void forward_columns(Activation f, const T* gate, const T* up, T* y,
                                                   std::int64_t n) {
    with_function(
        f, [&]<Activation g>() __attribute__((always_inline)) {
#pragma omp simd
            for (std::int64_t j = 0; j < n; ++j)
                cpu::store(y[j], cpu::value<g>(cpu::load(gate[j])) * cpu::load(up[j]));
        });
}

// A row of the operands of backward. d_gate may be gate, and d_up may be up.
template <class T>
struct GatedRow {
    const T *gate, *up, *dy;
    T *d_gate, *d_up;
};

template <class T>
[[gnu::always_inline]] inline void backward_columns(Activation f, const GatedRow<T>& row,
                                                    std::int64_t n) {
    const T *gate = row.gate, *up = row.up, *dy = row.dy;
    T *d_gate = row.d_gate, *d_up = row.d_up;
    with_function(
        f, [&]<Activation g>() __attribute__((always_inline)) {
#pragma omp simd
            for (std::int64_t j = 0; j < n; ++j) {
                const float z = cpu::load(gate[j]), d = cpu::load(dy[j]), u = cpu::load(up[j]);
                cpu::store(d_gate[j], d * u * cpu::derivative<g>(z));
                cpu::store(d_up[j], d * cpu::value<g>(z));
            }
        });
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gated_row(
    Activation f, const float* gate, const float* up, float* y, std::int64_t n) {
    forward_columns(f, gate, up, y, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gated_row(
    Activation f, const bf16* gate, const bf16* up, bf16* y, std::int64_t n) {
    forward_columns(f, gate, up, y, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gated_backward_row(
    Activation f, const GatedRow<float>& row, std::int64_t n) {
    backward_columns(f, row, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gated_backward_row(
    Activation f, const GatedRow<bf16>& row, std::int64_t n) {
    backward_columns(f, row, n);
}

}  // namespace

template <class T>
void gated_activation_forward(CpuContext& ctx, Activation f, HostMatrix<const T> x,
                              HostMatrix<T> y) {
    check_gated(x, y);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        const T* const row = x.data + i * x.stride;
        gated_row(f, row, row + y.cols, y.data + i * y.stride, y.cols);
    });
}

template <class T>
void gated_activation_backward(CpuContext& ctx, const GatedActivationBackward<T, HostSpace>& o) {
    check(o);
    const std::int64_t n = o.dy.cols;
    cpu::parallel_for(ctx, o.x.rows, o.x.rows * o.x.cols, [&](std::int64_t i) {
        const T* const x = o.x.data + i * o.x.stride;
        T* const dx = o.dx.data + i * o.dx.stride;
        gated_backward_row(o.f, GatedRow<T>{x, x + n, o.dy.data + i * o.dy.stride, dx, dx + n}, n);
    });
}

template void gated_activation_forward(CpuContext&, Activation, HostMatrix<const float>,
                                       HostMatrix<float>);
template void gated_activation_forward(CpuContext&, Activation, HostMatrix<const bf16>,
                                       HostMatrix<bf16>);
template void gated_activation_backward(CpuContext&,
                                        const GatedActivationBackward<float, HostSpace>&);
template void gated_activation_backward(CpuContext&,
                                        const GatedActivationBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
