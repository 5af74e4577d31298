// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"

// These functions compute attention with cuDNN. A build without cuDNN's frontend has no library and
// accepts no batch.
namespace lockstep::kernels::cuda {

// Says which batches a context gives to the library. `expected`: those that repay its plans, which
// take seconds to compile for every new shape. `always`: all that it accepts. `in_any_order`: all
// that it accepts, and its backward may sum in any order.
enum class AttentionLibrary { expected, always, in_any_order, never };

// The threshold is a number of tokens: attention over shorter sequences is a small part of a step.
constexpr int long_enough_for_library = 256;

// A context's settings for attention: ctx.cached<AttentionSettings>().
struct AttentionSettings {
    AttentionLibrary library = AttentionLibrary::expected;
    // If set, the first backward of a shape runs and times all ways to compute it, including those
    // of the library whose last bits differ from run to run, and keeps the fastest.
    bool autotune = false;
    // Lockstep's own backward computes as many heads at once as keep the gradients of their scores
    // within this size, but at least one head.
    std::int64_t max_score_bytes = usual_score_bytes;
};

// Returns whether the settings give the batch to the library.
bool is_for_library(const AttentionSettings& settings, const AttentionBatch& batch) noexcept;

// Returns which library a context would use for 16-bit matrices and heads of head_dim columns, and
// for which batches; or "own kernels: " and the reason.
std::string describe_library(CudaContext& ctx, int head_dim);

// Says how the library's backward adds the contributions of blocks to the same gradient. Only a
// fixed order gives the same bits in every run.
enum class LibrarySums : std::uint8_t { in_fixed_order, in_any_order };

// Computes forward for bf16 and fp16 matrices that tensor cores support. Returns false, and does
// nothing, if the library does not accept the batch (attention dropout, an unsupported head size or
// GPU, or no library). Writes the log-sum-exp as [q_total, heads], with zeros in filler rows and
// for sequences without keys.
template <class T>
bool library_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);

// Returns whether library_forward accepts these matrices. The layout of log-sum-exp depends on it.
template <class T>
bool library_takes_forward(CudaContext& ctx, const AttentionBatch& batch,
                           const ForwardMatrices<T>& m);

// Must be called after library_forward. Accepts only shapes that need no memory for all scores.
template <class T>
bool library_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                      LibrarySums sums);
template <class T>
bool library_takes_backward(CudaContext& ctx, const AttentionBatch& batch,
                            const BackwardMatrices<T>& m, LibrarySums sums);

}  // namespace lockstep::kernels::cuda
