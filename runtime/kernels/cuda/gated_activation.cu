// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/activation_checks.hpp"
#include "runtime/kernels/cuda/primitives/activation_functions.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/gated_activation.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// Cells are those of y.
template <Activation f, class T>
struct GatedForward {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float gate[width], up[width];
    };

    CudaMatrix<const T> gate, up;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        load(at(gate, cell), r.gate);
        load(at(up, cell), r.up);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
#pragma unroll
        for (int j = 0; j < width; ++j) r.gate[j] = activation<f, T>(r.gate[j]) * r.up[j];
        store(at(y, cell), r.gate);
    }
};

template <Activation f, class T>
struct GatedBackward {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float gate[width], up[width], dy[width];
    };

    CudaMatrix<const T> gate, up, dy;
    CudaMatrix<T> d_gate, d_up;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        load(at(gate, cell), r.gate);
        load(at(up, cell), r.up);
        load(at(dy, cell), r.dy);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
#pragma unroll
        for (int j = 0; j < width; ++j) {
            const float z = r.gate[j];
            r.gate[j] = r.dy[j] * r.up[j] * activation_derivative<f, T>(z);
            r.up[j] = r.dy[j] * activation<f, T>(z);
        }
        store(at(d_gate, cell), r.gate);
        store(at(d_up, cell), r.up);
    }
};

// Calls `body` with the activation as a compile-time constant.
template <class Body>
void with_function(Activation f, const Body& body) {
    using enum Activation;
    if (f == silu) return body.template operator()<silu>();
    if (f == gelu_tanh) return body.template operator()<gelu_tanh>();
    if (f == gelu_erf) return body.template operator()<gelu_erf>();
    body.template operator()<relu>();
}

}  // namespace

template <class T>
void gated_activation_forward(CudaContext& ctx, Activation f, CudaMatrix<const T> x,
                              CudaMatrix<T> y) {
    check_gated(x, y);
    const CudaMatrix<const T> gate = x.columns(0, y.cols), up = x.columns(y.cols, y.cols);
    with_function(f, [&]<Activation g>() {
        elementwise(ctx, GatedForward<g, T>{gate, up, y}, y, gate, up);
    });
}

template <class T>
void gated_activation_backward(CudaContext& ctx, const GatedActivationBackward<T, CudaSpace>& o) {
    check(o);
    const std::int64_t n = o.dy.cols;
    const CudaMatrix<const T> gate = o.x.columns(0, n), up = o.x.columns(n, n);
    const CudaMatrix<T> d_gate = o.dx.columns(0, n), d_up = o.dx.columns(n, n);
    with_function(o.f, [&]<Activation g>() {
        elementwise(ctx, GatedBackward<g, T>{gate, up, o.dy, d_gate, d_up}, d_gate, d_up, gate, up,
                    o.dy);
    });
}

template void gated_activation_forward(CudaContext&, Activation, CudaMatrix<const float>,
                                       CudaMatrix<float>);
template void gated_activation_forward(CudaContext&, Activation, CudaMatrix<const bf16>,
                                       CudaMatrix<bf16>);
template void gated_activation_forward(CudaContext&, Activation, CudaMatrix<const fp16>,
                                       CudaMatrix<fp16>);
template void gated_activation_backward(CudaContext&,
                                        const GatedActivationBackward<float, CudaSpace>&);
template void gated_activation_backward(CudaContext&,
                                        const GatedActivationBackward<bf16, CudaSpace>&);
template void gated_activation_backward(CudaContext&,
                                        const GatedActivationBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
