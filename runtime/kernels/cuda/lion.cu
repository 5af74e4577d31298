// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/weight_update.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct LionBody {
    struct Update {
        float gradient_scale, lr, shrink;  // w *= shrink: decoupled decay
        bool skip;
    };

    const StepState* state;
    const float* gradient;
    Weights<T> weights;
    float* moment;
    DecayBits decays;
    double weight_decay;
    float beta1, rest1, beta2, rest2;  // rest = 1 - beta

    // Calculates in double, as the CPU does.
    __device__ Update prepare() const {
        return {state->gradient_scale, state->lr,
                static_cast<float>(fma(-double{state->lr}, weight_decay, 1.0)), state->skip != 0};
    }

    static constexpr int vectors = 1, resident = 6;
    template <int width>
    struct Read {
        float g[width], w[width], m[width], shrink;
    };
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update& u) const {
        Read<width> r;
        load(gradient + i, r.g);
        weights.read(i, r.w);
        load(moment + i, r.m);
        r.shrink = decays.at(i) ? u.shrink : 1.0f;
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [g, w, m, shrink] = r;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            g[k] *= u.gradient_scale;
            const float c = __fmaf_rn(beta1, m[k], rest1 * g[k]);
            // Zero and NaN are their own signs.
            const float sign = c > 0.0f ? 1.0f : c < 0.0f ? -1.0f : c;
            w[k] = __fmaf_rn(w[k], shrink, -(u.lr * sign));
            m[k] = __fmaf_rn(beta2, m[k], rest2 * g[k]);
        }
        store(moment + i, m);
        weights.write(i, w);
    }
};

}  // namespace

template <class T>
void lion(CudaContext& ctx, const Lion<T, CudaSpace>& o) {
    check(o);
    const LionOptions& options = o.options;
    const LionBody<T> body{o.state,
                           o.gradient.data(),
                           weights_of(o.master, o.compute),
                           o.moment.data(),
                           decay_bits(o.decays),
                           options.weight_decay,
                           static_cast<float>(options.beta1),
                           static_cast<float>(1.0 - options.beta1),
                           static_cast<float>(options.beta2),
                           static_cast<float>(1.0 - options.beta2)};
    for_each_element(ctx, body, o.gradient.size(), o.gradient.data(), o.master.data(),
                     o.moment.data(), o.compute.data());
}

template void lion(CudaContext&, const Lion<float, CudaSpace>&);
template void lion(CudaContext&, const Lion<bf16, CudaSpace>&);
template void lion(CudaContext&, const Lion<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
