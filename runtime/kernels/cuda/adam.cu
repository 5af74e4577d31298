// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/kernels/cuda/weights.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Adam {
    struct Update {
        float gradient_scale, shrink;  // w *= shrink: decoupled decay
        float step_size, root_correction2;
        bool skip;
    };

    const StepState* state;
    const float* gradient;
    Weights<T> weights;
    float *first_moment, *second_moment, *largest;  // largest may be null
    double log_beta1, log_beta2, decoupled_decay;
    float l2, rest1, beta2, rest2, epsilon;  // rest = 1 - beta

    // In double, as torch computes them. 1 - beta^t = -expm1(t log(beta)).
    __device__ Update prepare() const {
        const auto t = static_cast<double>(state->updates + 1);
        const double lr = double{state->lr};
        return {state->gradient_scale, static_cast<float>(1.0 - lr * decoupled_decay),
                static_cast<float>(lr / -expm1(t * log_beta1)),
                static_cast<float>(sqrt(-expm1(t * log_beta2))), state->skip != 0};
    }

    template <int width>
    __device__ __forceinline__ void run(std::int64_t i, const Update& u) const {
        if (u.skip) return;
        float gradients[width], w[width], m[width], v[width], most[width];
        load(gradient + i, gradients);
        weights.read(i, w);
        load(first_moment + i, m);
        load(second_moment + i, v);
        if (largest != nullptr) load(largest + i, most);
#pragma unroll
        for (int k = 0; k < width; ++k) {
            w[k] *= u.shrink;
            const float g = gradients[k] * u.gradient_scale + l2 * w[k];
            m[k] += rest1 * (g - m[k]);
            v[k] = beta2 * v[k] + rest2 * g * g;
            most[k] = largest != nullptr && most[k] > v[k] ? most[k] : v[k];
            w[k] -= u.step_size * m[k] / (sqrtf(most[k]) / u.root_correction2 + epsilon);
        }
        store(first_moment + i, m);
        store(second_moment + i, v);
        if (largest != nullptr) store(largest + i, most);
        weights.write(i, w);
    }
};

}  // namespace

template <class T>
void adam(CudaContext& ctx, const AdamOptions& options, const StepState* state,
          CudaView<const float> gradient, CudaView<float> master, CudaView<float> first_moment,
          CudaView<float> second_moment, CudaView<float> largest, CudaView<T> compute) {
    const std::size_t n = gradient.size();
    require(first_moment.size() == n && second_moment.size() == n &&
                (largest.empty() || largest.size() == n),
            "adam: sizes differ");
    const bool decoupled = options.decay == AdamOptions::Decay::decoupled;
    const Adam<T> body{state,
                       gradient.data(),
                       weights_of(n, master, compute),
                       first_moment.data(),
                       second_moment.data(),
                       largest.data(),
                       std::log(options.beta1),
                       std::log(options.beta2),
                       decoupled ? options.weight_decay : 0.0,
                       decoupled ? 0.0f : static_cast<float>(options.weight_decay),
                       static_cast<float>(1.0 - options.beta1),
                       static_cast<float>(options.beta2),
                       static_cast<float>(1.0 - options.beta2),
                       static_cast<float>(options.epsilon)};
    for_each_element<T>(ctx, body, n, gradient.data(), master.data(), first_moment.data(),
                        second_moment.data(), largest.data(), compute.data());
}

template void adam(CudaContext&, const AdamOptions&, const StepState*, CudaView<const float>,
                   CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                   CudaView<float>);
template void adam(CudaContext&, const AdamOptions&, const StepState*, CudaView<const float>,
                   CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                   CudaView<bf16>);
template void adam(CudaContext&, const AdamOptions&, const StepState*, CudaView<const float>,
                   CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                   CudaView<fp16>);

}  // namespace lockstep::kernels
