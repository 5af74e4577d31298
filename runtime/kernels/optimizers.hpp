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

// Each optimizer makes one pass over a range of the flat buffer: it multiplies the gradient by
// state.gradient_scale, updates the fp32 master, and writes the compute copy if T is not float (the
// view `compute` is empty for float). The learning rate and the update count come from the state;
// state.updates + 1 is the number of this update, counted from 1. Gradients are not changed. If
// state.skip is set, nothing is changed. On GPUs T may also be fp16, and the master may be empty:
// `compute` then holds the weights.

// Says which elements options.weight_decay applies to, in lines of decay_line elements: bit i % 32
// of word i / 32 is for elements [16 i, 16 i + 16). An empty view means that it applies to all
// elements.
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
// Follows torch.optim.SGD: g += weight_decay * w; b = momentum * b + g (b = g at the first update);
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
    double beta1, beta2, epsilon, weight_decay;  // double: 1 - 0.999f has a relative error of 1e-5
    enum class Decay { l2, decoupled } decay;    // adam, adamw
};
// Follows torch.optim.Adam / AdamW. A non-empty `largest` makes it AMSGrad. The state must hold the
// bias corrections of this update for the same betas.
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
// Follows fairseq's Adafactor for one parameter [rows, cols]. If both are > 1 and `full` is empty,
// the second moment is factored into row [rows] and column [cols]; otherwise it is full [rows *
// cols]. first_moment is empty when beta1 is 0. scratch has rows * cols elements.
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
// Allocates the device memory that adafactor() needs in addition, for the same reason as
// reserve_sums().
void reserve_adafactor(CpuContext& ctx);
void reserve_adafactor(CudaContext& ctx);

}  // namespace lockstep::kernels
