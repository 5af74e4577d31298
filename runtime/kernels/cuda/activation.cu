// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/activation_checks.hpp"
#include "runtime/kernels/cuda/primitives/activation_functions.hpp"
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <Activation f, Masking masking, class T>
struct Forward {
    static constexpr int vectors = 4;
    template <int width>
    struct Read {
        MaskedToken token;
        float values[width];
    };

    Mask mask;
    CudaMatrix<const T> x;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{masked_token<masking>(mask, cell.row), {}};
        load(at(x, cell), r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
#pragma unroll
        for (int j = 0; j < width; ++j) r.values[j] = activation<f, T>(r.values[j]);
        apply_mask<masking>(mask, r.token, cell.col, r.values);
        store(at(y, cell), r.values);
    }
};

// Writes dx and adds the unrounded values to the sums.
template <Activation f, Masking masking, class T>
struct Backward {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        MaskedToken token;
        float values[width], gradients[width];
    };

    Mask mask;
    CudaMatrix<const T> x, dy;
    CudaMatrix<T> dx;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{masked_token<masking>(mask, cell.row), {}, {}};
        load(at(x, cell), r.values);
        load(at(dy, cell), r.gradients);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void add(Cell cell, Read<width>& r, float (&sums)[width]) const {
#pragma unroll
        for (int j = 0; j < width; ++j) r.gradients[j] *= activation_derivative<f, T>(r.values[j]);
        apply_mask<masking>(mask, r.token, cell.col, r.gradients);
        store(at(dx, cell), r.gradients);
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] += r.gradients[j];
    }
};

template <class T>
struct ReluBackwardBody {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float values[width], gradients[width];
    };

    float scale;
    CudaMatrix<const T> y, dy;
    CudaMatrix<T> dx;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        load(at(y, cell), r.values);
        load(at(dy, cell), r.gradients);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void add(Cell cell, Read<width>& r, float (&sums)[width]) const {
#pragma unroll
        for (int j = 0; j < width; ++j) {
            r.gradients[j] = r.values[j] > 0.0f ? r.gradients[j] * scale : 0.0f;
            sums[j] += r.gradients[j];
        }
        store(at(dx, cell), r.gradients);
    }
};

// Calls `body` with the activation and the masking as compile-time constants.
template <class Body>
void specialised(Activation f, Masking masking, const Body& body) {
    using enum Activation;
    const auto masked = [&]<Activation g>() {
        if (masking == Masking::on) return body.template operator()<g, Masking::on>();
        body.template operator()<g, Masking::off>();
    };
    if (f == relu) return masked.template operator()<relu>();
    if (f == gelu_tanh) return masked.template operator()<gelu_tanh>();
    if (f == silu) return masked.template operator()<silu>();
    masked.template operator()<gelu_erf>();
}

Masking masking_of(const Dropout& site) { return site.active() ? Masking::on : Masking::off; }

}  // namespace

template <class T>
void activation_forward(CudaContext& ctx, Activation f, const Dropout& site,
                        TokenCoordinates<CudaSpace> coordinates, CudaMatrix<const T> x,
                        CudaMatrix<T> y) {
    require(same_shape(x, y), "activation: shapes differ");
    const Mask mask = mask_of(site, coordinates, x.rows);
    specialised(f, masking_of(site), [&]<Activation g, Masking masking>() {
        elementwise(ctx, Forward<g, masking, T>{mask, x, y}, y, x);
    });
}

template <class T>
void activation_backward(CudaContext& ctx, const ActivationBackward<T, CudaSpace>& o) {
    check(o);
    const Mask mask = mask_of(o.dropout, o.coordinates, o.x.rows);
    specialised(o.f, masking_of(o.dropout), [&]<Activation g, Masking masking>() {
        column_sums(ctx, Backward<g, masking, T>{mask, o.x, o.dy, o.dx}, o.db, o.into, o.dx, o.x,
                    o.dy);
    });
}

template <class T>
void relu_backward(CudaContext& ctx, const ReluBackward<T, CudaSpace>& o) {
    check(o);
    column_sums(ctx, ReluBackwardBody<T>{kept_scale(o.dropout), o.y, o.dy, o.dx}, o.db, o.into,
                o.dx, o.y, o.dy);
}

template void activation_forward(CudaContext&, Activation, const Dropout&,
                                 TokenCoordinates<CudaSpace>, CudaMatrix<const float>,
                                 CudaMatrix<float>);
template void activation_forward(CudaContext&, Activation, const Dropout&,
                                 TokenCoordinates<CudaSpace>, CudaMatrix<const bf16>,
                                 CudaMatrix<bf16>);
template void activation_forward(CudaContext&, Activation, const Dropout&,
                                 TokenCoordinates<CudaSpace>, CudaMatrix<const fp16>,
                                 CudaMatrix<fp16>);
template void activation_backward(CudaContext&, const ActivationBackward<float, CudaSpace>&);
template void activation_backward(CudaContext&, const ActivationBackward<bf16, CudaSpace>&);
template void activation_backward(CudaContext&, const ActivationBackward<fp16, CudaSpace>&);
template void relu_backward(CudaContext&, const ReluBackward<float, CudaSpace>&);
template void relu_backward(CudaContext&, const ReluBackward<bf16, CudaSpace>&);
template void relu_backward(CudaContext&, const ReluBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
