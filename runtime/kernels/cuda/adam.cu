// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/adam_rule.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct AdamBody {
    using Update = AdamRule::Update;

    AdamRule rule;
    const float* gradient;
    Weights<T> weights;
    float *first_moment, *second_moment, *largest;  // largest may be null

    __device__ Update prepare() const { return rule.prepare(); }

    static constexpr int vectors = 1, resident = 5;
    template <int width>
    struct Read {
        float gradients[width], w[width], m[width], v[width], most[width], shrink, l2;
    };
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update& u) const {
        Read<width> r;
        load(gradient + i, r.gradients);
        weights.read(i, r.w);
        load(first_moment + i, r.m);
        load(second_moment + i, r.v);
        if (largest != nullptr) load(largest + i, r.most);
        const bool decay = rule.decays.at(i);
        r.shrink = decay ? u.shrink : 1.0f;
        r.l2 = decay ? rule.l2 : 0.0f;
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [gradients, w, m, v, most, shrink, l2_here] = r;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            const float g = __fmaf_rn(gradients[k], u.gradient_scale, l2_here * w[k]);
            m[k] = __fmaf_rn(rule.rest1, g - m[k], m[k]);
            v[k] = __fmaf_rn(rule.rest2 * g, g, rule.beta2 * v[k]);
            most[k] = largest != nullptr && most[k] > v[k] ? most[k] : v[k];
            const float step =
                u.step_size * m[k] / (sqrtf(most[k]) / u.root_correction2 + rule.epsilon);
            w[k] = __fmaf_rn(w[k], shrink, -step);
        }
        store(first_moment + i, m);
        store(second_moment + i, v);
        if (largest != nullptr) store(largest + i, most);
        weights.write(i, w);
    }
};

}  // namespace

template <class T>
void adam(CudaContext& ctx, const Adam<T, CudaSpace>& o) {
    check(o);
    const AdamBody<T> body{adam_rule(o.options, o.state, o.decays),
                           o.gradient.data(),
                           weights_of(o.master, o.compute),
                           o.first_moment.data(),
                           o.second_moment.data(),
                           o.largest.data()};
    for_each_element(ctx, body, o.gradient.size(), o.gradient.data(), o.master.data(),
                     o.first_moment.data(), o.second_moment.data(), o.largest.data(),
                     o.compute.data());
}

template void adam(CudaContext&, const Adam<float, CudaSpace>&);
template void adam(CudaContext&, const Adam<bf16, CudaSpace>&);
template void adam(CudaContext&, const Adam<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
