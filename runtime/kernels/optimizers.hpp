// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// One pass over a range of the flat buffer: g = gradient * state.gradient_scale, update of the
// fp32 master, and the compute copy written where T is not float (empty view where it is).
// lr and the update count (state.updates + 1 is this update's number, from 1) come from the state.
// Gradients are left as they are. With state.skip everything is.
// On GPUs T may also be fp16, and the master may be empty: then `compute` holds the weights.

// Which elements options.weight_decay applies to, by lines of so many elements: the line of
// elements [16 i, 16 i + 16) has bit i % 32 of word i / 32. Empty: it applies to all.
constexpr std::size_t decay_line = 16;
template <class Space>
using DecayLines = View<const std::uint32_t, Space>;
constexpr std::size_t decay_words(std::size_t elements) noexcept {
    return (elements + 32 * decay_line - 1) / (32 * decay_line);
}

struct SgdOptions {
    float momentum, weight_decay;
    enum class Kind { plain, nesterov } kind;
};
// torch.optim.SGD: g += weight_decay * w; b = momentum * b + g (b = g at the first update);
// w -= lr * (nesterov ? g + momentum * b : b). momentum_buffer is empty when momentum is 0.
template <class T>
void sgd(CpuContext& ctx, const SgdOptions& options, const StepState* state,
         HostView<const float> gradient, HostView<float> master, HostView<float> momentum_buffer,
         HostView<T> compute, DecayLines<HostSpace> decays = {});
template <class T>
void sgd(CudaContext& ctx, const SgdOptions& options, const StepState* state,
         CudaView<const float> gradient, CudaView<float> master, CudaView<float> momentum_buffer,
         CudaView<T> compute, DecayLines<CudaSpace> decays = {});

struct AdamOptions {
    double beta1, beta2, epsilon, weight_decay;  // 1 - 0.999f is off by 1e-5 of itself
    enum class Decay { l2, decoupled } decay;    // adam, adamw
};
// torch.optim.Adam / AdamW. A non-empty `largest` makes it AMSGrad. The state has this update's
// bias corrections, for the same betas.
template <class T>
void adam(CpuContext& ctx, const AdamOptions& options, const StepState* state,
          HostView<const float> gradient, HostView<float> master, HostView<float> first_moment,
          HostView<float> second_moment, HostView<float> largest, HostView<T> compute,
          DecayLines<HostSpace> decays = {});
template <class T>
void adam(CudaContext& ctx, const AdamOptions& options, const StepState* state,
          CudaView<const float> gradient, CudaView<float> master, CudaView<float> first_moment,
          CudaView<float> second_moment, CudaView<float> largest, CudaView<T> compute,
          DecayLines<CudaSpace> decays = {});

struct AdafactorOptions {
    float epsilon1, epsilon2, clip_threshold, decay_rate, beta1, weight_decay;
    enum class Step { given, relative } step;    // relative: min(1e-2, 1/sqrt(t)), lr unused
    enum class Scale { none, parameter } scale;  // parameter: lr * max(epsilon2, rms(w))
};
// fairseq's Adafactor for one parameter [rows, cols]: factored second moment (row [rows], column
// [cols]) when both are > 1 and `full` is empty, else `full` [rows * cols]. first_moment is empty
// when beta1 is 0. scratch [rows * cols].
template <class T>
void adafactor(CpuContext& ctx, const AdafactorOptions& options, const StepState* state,
               HostMatrix<const float> gradient, HostMatrix<float> master, HostView<float> row,
               HostView<float> column, HostView<float> full, HostView<float> first_moment,
               HostView<float> scratch, HostView<T> compute);
template <class T>
void adafactor(CudaContext& ctx, const AdafactorOptions& options, const StepState* state,
               CudaMatrix<const float> gradient, CudaMatrix<float> master, CudaView<float> row,
               CudaView<float> column, CudaView<float> full, CudaView<float> first_moment,
               CudaView<float> scratch, CudaView<T> compute);
// Takes what that needs of the device's memory besides, for the reason of reserve_sums().
void reserve_adafactor(CpuContext& ctx);
void reserve_adafactor(CudaContext& ctx);

}  // namespace lockstep::kernels
