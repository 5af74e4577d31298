// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/moment_codes.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Each optimizer makes one pass over a range of the flat buffer: it multiplies the gradient by
// state->gradient_scale, updates the fp32 master, and writes the compute copy if T is not float
// (the view `compute` is empty for float). The learning rate and the update count come from the
// state; state->updates + 1 is the number of this update, counted from 1. Gradients are not
// changed. If state->skip is set, nothing is changed. On GPUs T may also be fp16, and the master
// may be empty: `compute` then holds the weights. optimizer_checks.hpp has the sizes that operands
// must have. sgd, adam and lion
// have the same bits on every device: the kernels write out which products are fused with a sum,
// because compilers choose differently.

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
// w -= lr * (nesterov ? g + momentum * b : b).
template <class T, class Space>
struct Sgd {
    SgdOptions options;
    const StepState* state;
    View<const float, Space> gradient;
    View<float, Space> master = {};
    View<float, Space> momentum_buffer = {};  // empty if momentum is 0
    View<T, Space> compute = {};
    DecayLines<Space> decays = {};
};
template <class T>
void sgd(CpuContext& ctx, const Sgd<T, HostSpace>& operands);
template <class T>
void sgd(CudaContext& ctx, const Sgd<T, CudaSpace>& operands);

struct AdamOptions {
    double beta1, beta2, epsilon, weight_decay;  // double: 1 - 0.999f has a relative error of 1e-5
    enum class Decay { l2, decoupled } decay;    // adam, adamw
};
// Follows torch.optim.Adam / AdamW. The state must hold the bias corrections of this update for the
// same betas.
template <class T, class Space>
struct Adam {
    AdamOptions options;
    const StepState* state;
    View<const float, Space> gradient;
    View<float, Space> master = {};
    View<float, Space> first_moment, second_moment;
    View<float, Space> largest = {};  // not empty: AMSGrad
    View<T, Space> compute = {};
    DecayLines<Space> decays = {};
};
template <class T>
void adam(CpuContext& ctx, const Adam<T, HostSpace>& operands);
template <class T>
void adam(CudaContext& ctx, const Adam<T, CudaSpace>& operands);

// A moment of n elements in 8 bits: codes [n] of a dynamic map, and scales [moment_scales(n)].
template <class Space>
struct CodedMoment {
    View<std::uint8_t, Space> codes;
    View<float, Space> scales;
};
// Is Adam without AMSGrad on moments that are decoded before the update and coded after it, a cell
// at a time. All arithmetic is fp32. The update takes the moments before they are coded.
template <class T, class Space>
struct CodedAdam {
    AdamOptions options;
    const StepState* state;
    View<const float, Space> gradient;
    View<float, Space> master = {};
    CodedMoment<Space> first_moment, second_moment;
    View<T, Space> compute = {};
    DecayLines<Space> decays = {};
};
template <class T>
void coded_adam(CpuContext& ctx, const CodedAdam<T, HostSpace>& operands);
template <class T>
void coded_adam(CudaContext& ctx, const CodedAdam<T, CudaSpace>& operands);

struct LionOptions {
    double beta1, beta2, weight_decay;  // double: the rest 1 - beta is exact until it is rounded
};
// Follows Lion of "Symbolic Discovery of Optimization Algorithms" (arXiv 2302.06675):
// u = sign(beta1 * m + (1 - beta1) * g); w -= lr * (u + weight_decay * w);
// m = beta2 * m + (1 - beta2) * g. The sign of 0 is 0, and NaN stays NaN.
template <class T, class Space>
struct Lion {
    LionOptions options;
    const StepState* state;
    View<const float, Space> gradient;
    View<float, Space> master = {};
    View<float, Space> moment;
    View<T, Space> compute = {};
    DecayLines<Space> decays = {};
};
template <class T>
void lion(CpuContext& ctx, const Lion<T, HostSpace>& operands);
template <class T>
void lion(CudaContext& ctx, const Lion<T, CudaSpace>& operands);

struct MuonOptions {
    double rate;  // of the matrices, as a multiple of the state's
    double momentum, weight_decay;
    enum class Kind { plain, nesterov } kind;
    enum class Scale { original, match_rms_adamw } scale;
};
// Follows torch.optim.Muon, after Keller Jordan's, on CPUs: m += (1 - momentum) * (g - m);
// direction = nesterov ? g + momentum * (m - g) : m. The gradient becomes the direction.
template <class Space>
struct MuonDirection {
    MuonOptions options;
    const StepState* state;
    View<float, Space> gradient;
    View<float, Space> moment;
};
void muon_direction(CpuContext& ctx, const MuonDirection<HostSpace>& operands);
// Updates a range of a matrix by the whole matrix of its direction: w -= rate * (scale *
// orthogonalised(direction) + weight_decay * w). Five Newton-Schulz steps in bf16 orthogonalise.
template <class T, class Space>
struct Muon {
    MuonOptions options;
    const StepState* state;
    MatrixView<const float, Space> direction;
    std::size_t first = 0;  // element of the matrix with which the range begins
    View<float, Space> master = {};
    View<T, Space> compute = {};
    View<bf16, Space> scratch = {};  // muon_scratch() elements
};
constexpr std::size_t muon_scratch(std::int64_t rows, std::int64_t cols) noexcept {
    const std::int64_t side = rows < cols ? rows : cols;
    return static_cast<std::size_t>(2 * (rows * cols + side * side));
}
template <class T>
void muon(CpuContext& ctx, const Muon<T, HostSpace>& operands);

struct AdafactorOptions {
    float epsilon1, epsilon2, clip_threshold, decay_rate, beta1, weight_decay;
    enum class Step { given, relative } step;    // relative: min(1e-2, 1/sqrt(t)), lr unused
    enum class Scale { none, parameter } scale;  // parameter: lr * max(epsilon2, rms(w))
};
// Follows fairseq's Adafactor for one parameter [rows, cols]. If both are > 1 and `full` is empty,
// the second moment is factored into row [rows] and column [cols]; otherwise it is full [rows *
// cols]. first_moment is empty when beta1 is 0. scratch has rows * cols elements.
template <class T, class Space>
struct Adafactor {
    AdafactorOptions options;
    const StepState* state;
    MatrixView<const float, Space> gradient;
    MatrixView<float, Space> master = {};
    View<float, Space> row = {}, column = {}, full = {}, first_moment = {};
    View<float, Space> scratch;
    View<T, Space> compute = {};
};
template <class T>
void adafactor(CpuContext& ctx, const Adafactor<T, HostSpace>& operands);
template <class T>
void adafactor(CudaContext& ctx, const Adafactor<T, CudaSpace>& operands);
// Allocates the device memory that adafactor() needs in addition, for the same reason as
// reserve_sums().
void reserve_adafactor(CpuContext& ctx);
void reserve_adafactor(CudaContext& ctx);

}  // namespace lockstep::kernels
