// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/weight_update.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// The update is b = momentum * b + g; w -= lr * (direct * g + carried * b), for both of torch's
// kinds.
template <class T>
struct SgdBody {
    struct Update {
        float gradient_scale, lr, momentum;
        bool skip;
    };

    const StepState* state;
    const float* gradient;
    Weights<T> weights;
    float* buffer;  // may be null
    DecayBits decays;
    float weight_decay, momentum, direct, carried;

    // torch starts the buffer with the first gradient and ignores its old content.
    __device__ Update prepare() const {
        return {state->gradient_scale, state->lr, state->updates == 0 ? 0.0f : momentum,
                state->skip != 0};
    }

    static constexpr int vectors = 1, resident = 6;
    template <int width>
    struct Read {
        float g[width], w[width], b[width], weight_decay;
    };
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update&) const {
        Read<width> r{};  // without a buffer b is not read from memory
        load(gradient + i, r.g);
        weights.read(i, r.w);
        if (buffer != nullptr) load(buffer + i, r.b);
        r.weight_decay = decays.at(i) ? weight_decay : 0.0f;
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [g, w, b, decay] = r;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            g[k] = __fmaf_rn(g[k], u.gradient_scale, decay * w[k]);
            const bool begins = buffer == nullptr || u.momentum == 0.0f;
            b[k] = begins ? g[k] : __fmaf_rn(u.momentum, b[k], g[k]);
            w[k] = __fmaf_rn(-u.lr, __fmaf_rn(carried, b[k], direct * g[k]), w[k]);
        }
        if (buffer != nullptr) store(buffer + i, b);
        weights.write(i, w);
    }
};

}  // namespace

template <class T>
void sgd(CudaContext& ctx, const Sgd<T, CudaSpace>& o) {
    check(o);
    const float momentum = o.options.momentum;
    const bool nesterov = o.options.kind == SgdOptions::Kind::nesterov && momentum != 0;
    const SgdBody<T> body{o.state,
                          o.gradient.data(),
                          weights_of(o.master, o.compute),
                          o.momentum_buffer.empty() ? nullptr : o.momentum_buffer.data(),
                          decay_bits(o.decays),
                          o.options.weight_decay,
                          momentum,
                          nesterov ? 1.0f : 0.0f,
                          nesterov ? momentum : 1.0f};
    for_each_element(ctx, body, o.gradient.size(), o.gradient.data(), o.master.data(),
                     o.momentum_buffer.data(), o.compute.data());
}

template void sgd(CudaContext&, const Sgd<float, CudaSpace>&);
template void sgd(CudaContext&, const Sgd<bf16, CudaSpace>&);
template void sgd(CudaContext&, const Sgd<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
