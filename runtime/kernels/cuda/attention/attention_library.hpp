// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"

// Attention by cuDNN. A build that does not find cuDNN's frontend has none: then nothing is taken.
namespace lockstep::kernels::cuda {

// Which batches a context gives to the library. Expected: those that repay its plans, which take
// seconds to compile for every new shape. In any order: all that it takes, and such sums in
// backward.
enum class AttentionLibrary { expected, always, in_any_order, never };

// Counted in tokens: attention over less is a small part of a step.
constexpr int long_enough_for_library = 256;

// How a context does attention: ctx.cached<AttentionSettings>().
struct AttentionSettings {
    AttentionLibrary library = AttentionLibrary::expected;
    // The first backward of a shape runs and times all ways to compute it, those of the library
    // whose last bits differ from run to run included, and the fastest is kept.
    bool autotune = false;
    // Own backward computes so many heads at once that the gradients of their scores take at most
    // this, or one head.
    std::int64_t max_score_bytes = usual_score_bytes;
};

// Whether the settings give it to the library.
bool is_for_library(const AttentionSettings& settings, const AttentionBatch& batch) noexcept;

// Which library a context would use for matrices of 16 bits and heads of so many columns, and for
// what; or "own kernels: " and why.
std::string describe_library(CudaContext& ctx, int head_dim);

// How the library's backward adds what blocks contribute to the same gradient: only a fixed order
// gives the same bits at every run.
enum class LibrarySums : std::uint8_t { in_fixed_order, in_any_order };

// For bf16 and fp16 matrices that tensor cores can take. False: the library does not take the batch
// (attention dropout, an unknown head, no such GPU, no library) and nothing was done. It writes the
// log-sum-exp as [q_total, heads], zeros where there is none: in filler rows, and where a sequence
// has no keys.
template <class T>
bool library_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);

// Whether library_forward takes these matrices, hence how log-sum-exp lies.
template <class T>
bool library_takes_forward(CudaContext& ctx, const AttentionBatch& batch,
                           const ForwardMatrices<T>& m);

// After library_forward. Taken only where it needs no memory for all scores.
template <class T>
bool library_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                      LibrarySums sums);
template <class T>
bool library_takes_backward(CudaContext& ctx, const AttentionBatch& batch,
                            const BackwardMatrices<T>& m, LibrarySums sums);

}  // namespace lockstep::kernels::cuda
