// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/cuda/activation_functions.hpp"
#include "runtime/kernels/cuda/dropout_mask.hpp"
#include "runtime/kernels/cuda/elementwise.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <Activation f, Masking masking, class T>
struct Forward {
    Mask mask;
    CudaMatrix<const T> x;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ void run(Cell cell) const {
        float values[width];
        load(at(x, cell), values);
#pragma unroll
        for (int j = 0; j < width; ++j) values[j] = activation<f>(values[j]);
        apply_mask<masking>(mask, cell.row, cell.col, values);
        store(at(y, cell), values);
    }
};

template <Activation f, Masking masking, class T>
struct Backward {
    Mask mask;
    CudaMatrix<const T> x, dy;
    CudaMatrix<T> dx;

    template <int width>
    __device__ __forceinline__ void run(Cell cell) const {
        float values[width], gradients[width];
        load(at(x, cell), values);
        load(at(dy, cell), gradients);
#pragma unroll
        for (int j = 0; j < width; ++j) gradients[j] *= activation_derivative<f>(values[j]);
        apply_mask<masking>(mask, cell.row, cell.col, gradients);
        store(at(dx, cell), gradients);
    }
};

template <class T>
struct ReluBackward {
    float scale;
    CudaMatrix<const T> y, dy;
    CudaMatrix<T> dx;

    template <int width>
    __device__ __forceinline__ void run(Cell cell) const {
        float values[width], gradients[width];
        load(at(y, cell), values);
        load(at(dy, cell), gradients);
#pragma unroll
        for (int j = 0; j < width; ++j)
            gradients[j] = values[j] > 0.0f ? gradients[j] * scale : 0.0f;
        store(at(dx, cell), gradients);
    }
};

// Calls body with the activation and the masking as constants.
template <class Body>
void specialised(Activation f, Masking masking, const Body& body) {
    using enum Activation;
    const auto masked = [&]<Activation g>() {
        if (masking == Masking::on) return body.template operator()<g, Masking::on>();
        body.template operator()<g, Masking::off>();
    };
    if (f == relu) return masked.template operator()<relu>();
    if (f == gelu_tanh) return masked.template operator()<gelu_tanh>();
    masked.template operator()<gelu_erf>();
}

Masking masking_of(const Dropout& site) { return site.active() ? Masking::on : Masking::off; }

}  // namespace

template <class T>
void activation_forward(CudaContext& ctx, Activation f, const Dropout& site,
                        TokenPlaces<CudaSpace> places, CudaMatrix<const T> x, CudaMatrix<T> y) {
    require(same_shape(x, y), "activation: shapes differ");
    const Mask mask = mask_of(site, places, x.rows);
    specialised(f, masking_of(site), [&]<Activation g, Masking masking>() {
        elementwise(ctx, Forward<g, masking, T>{mask, x, y}, y, x);
    });
}

template <class T>
void activation_backward(CudaContext& ctx, Activation f, const Dropout& site,
                         TokenPlaces<CudaSpace> places, CudaMatrix<const T> x,
                         CudaMatrix<const T> dy, CudaMatrix<T> dx) {
    require(same_shape(x, dy) && same_shape(x, dx), "activation backward: shapes differ");
    const Mask mask = mask_of(site, places, x.rows);
    specialised(f, masking_of(site), [&]<Activation g, Masking masking>() {
        elementwise(ctx, Backward<g, masking, T>{mask, x, dy, dx}, dx, x, dy);
    });
}

template <class T>
void relu_backward(CudaContext& ctx, const Dropout& site, CudaMatrix<const T> y,
                   CudaMatrix<const T> dy, CudaMatrix<T> dx) {
    require(same_shape(y, dy) && same_shape(y, dx), "relu backward: shapes differ");
    elementwise(ctx, ReluBackward<T>{kept_scale(site), y, dy, dx}, dx, y, dy);
}

template void activation_forward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                 CudaMatrix<const float>, CudaMatrix<float>);
template void activation_forward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                 CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void activation_forward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                 CudaMatrix<const fp16>, CudaMatrix<fp16>);
template void activation_backward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                  CudaMatrix<const float>, CudaMatrix<const float>,
                                  CudaMatrix<float>);
template void activation_backward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                  CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void activation_backward(CudaContext&, Activation, const Dropout&, TokenPlaces<CudaSpace>,
                                  CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<fp16>);
template void relu_backward(CudaContext&, const Dropout&, CudaMatrix<const float>,
                            CudaMatrix<const float>, CudaMatrix<float>);
template void relu_backward(CudaContext&, const Dropout&, CudaMatrix<const bf16>,
                            CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void relu_backward(CudaContext&, const Dropout&, CudaMatrix<const fp16>,
                            CudaMatrix<const fp16>, CudaMatrix<fp16>);

}  // namespace lockstep::kernels
