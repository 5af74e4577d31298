// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/weight_update.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// The update is b = momentum * b + g; w -= lr * (direct * g + carried * b), for both of torch's
// kinds.
template <class T>
struct Sgd {
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
        Read<width> r;
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
            g[k] = g[k] * u.gradient_scale + decay * w[k];
            b[k] = buffer == nullptr || u.momentum == 0.0f ? g[k] : u.momentum * b[k] + g[k];
            w[k] -= u.lr * (direct * g[k] + carried * b[k]);
        }
        if (buffer != nullptr) store(buffer + i, b);
        weights.write(i, w);
    }
};

}  // namespace

template <class T>
void sgd(CudaContext& ctx, const SgdOptions& options, const StepState* state,
         CudaView<const float> gradient, CudaView<float> master, CudaView<float> momentum_buffer,
         CudaView<T> compute, DecayLines<CudaSpace> decays) {
    const std::size_t n = gradient.size();
    require(momentum_buffer.size() == (options.momentum == 0 ? 0 : n) || n == 0,
            "sgd: momentum needs a buffer of the parameters' size, and only momentum does");
    const bool nesterov = options.kind == SgdOptions::Kind::nesterov && options.momentum != 0;
    const Sgd<T> body{state,
                      gradient.data(),
                      weights_of(n, master, compute),
                      momentum_buffer.empty() ? nullptr : momentum_buffer.data(),
                      decay_bits(decays, n),
                      options.weight_decay,
                      options.momentum,
                      nesterov ? 1.0f : 0.0f,
                      nesterov ? options.momentum : 1.0f};
    for_each_element(ctx, body, n, gradient.data(), master.data(), momentum_buffer.data(),
                     compute.data());
}

template void sgd(CudaContext&, const SgdOptions&, const StepState*, CudaView<const float>,
                  CudaView<float>, CudaView<float>, CudaView<float>, DecayLines<CudaSpace>);
template void sgd(CudaContext&, const SgdOptions&, const StepState*, CudaView<const float>,
                  CudaView<float>, CudaView<float>, CudaView<bf16>, DecayLines<CudaSpace>);
template void sgd(CudaContext&, const SgdOptions&, const StepState*, CudaView<const float>,
                  CudaView<float>, CudaView<float>, CudaView<fp16>, DecayLines<CudaSpace>);

}  // namespace lockstep::kernels
