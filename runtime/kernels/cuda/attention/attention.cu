// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/attention_biases.hpp"
#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"
#include "runtime/kernels/cuda/attention/attention_search.hpp"
#include "runtime/kernels/cuda/matmul/timing.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// This file checks the contracts of attention and chooses the kernels.
namespace lockstep::kernels {

bool cuda::is_for_library(const AttentionSettings& settings, const AttentionBatch& batch) noexcept {
    if (settings.library != AttentionLibrary::expected)
        return settings.library != AttentionLibrary::never;
    return std::max(batch.queries.longest, batch.keys.longest) >= long_enough_for_library;
}

std::string describe_attention(CudaContext& ctx, int head_dim, float dropout) {
    if (!cuda::mma_takes_head(head_dim))
        return "own kernels: libraries serve heads of 8 to 128 columns in steps of 8";
    const std::string library = cuda::describe_library(ctx, head_dim);
    const bool in_training = dropout == 0 || library.starts_with("own kernels");
    return in_training ? library
                       : "own kernels in training, whose attention has dropout; else by " + library;
}

namespace {

using namespace cuda;

RaggedSide side_of(CudaView<const std::int32_t> offsets, std::int64_t total, std::int32_t longest) {
    require(total <= std::numeric_limits<std::int32_t>::max(), "attention: too many tokens");
    const auto all = static_cast<int>(total);
    return {offsets.data(), total, longest > 0 ? std::min(longest, all) : all};
}

// `o` is an AttentionForward or an AttentionBackward.
template <class Operands>
AttentionBatch batch_of(const Operands& o) {
    const AttentionShape& shape = o.shape;
    const Sequences<CudaSpace>& sequences = o.sequences;
    require(shape.head_dim > 0 && shape.head_dim <= max_head_dim,
            "attention on GPUs: a head has 1 to 256 columns");
    return {side_of(sequences.q_offsets, o.q.rows, sequences.longest_q),
            side_of(sequences.k_offsets, o.k.rows, sequences.longest_k),
            sequences.rows.data(),
            static_cast<int>(sequences.rows.size()),
            shape.heads,
            shape.head_dim,
            shape.mask,
            mask_of(o.dropout, {}, 0),
            1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
            0,
            shape.heads_per_key(),
            shape.window};
}

// Tells whether tensor cores can process the matrices: heads are read 16 bytes at a time, and there
// is no window.
template <class... Matrices>
bool suits_tensor_cores(const AttentionBatch& batch, const Matrices&... m) {
    return batch.window == 0 && batch.head_dim <= max_mma_head_dim &&
           (by_vectors(m.data, batch.head_dim, m.stride) && ...);
}

template <class T>
bool tensor_cores_take(const AttentionBatch& batch, const BackwardMatrices<T>& m) {
    return suits_tensor_cores(batch, m.q, m.k, m.v, m.out, m.d_out, m.dq, m.dk, m.dv);
}

// Libraries get no batch whose heads share keys.
bool may_use_library(const AttentionBatch& batch) { return batch.heads_per_key == 1; }

template <class T>
void forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    if constexpr (sizeof(T) == 2)
        if (suits_tensor_cores(batch, m.q, m.k, m.v, m.out)) {
            if (!may_use_library(batch) || !library_forward(ctx, batch, m))
                mma_forward(ctx, batch, m);
            return;
        }
    plain_forward(ctx, batch, m);
}

// Returns the layout in which attention_forward has written log-sum-exp.
template <class T>
Statistics statistics_of(CudaContext& ctx, const AttentionBatch& batch,
                         const ForwardMatrices<T>& m) {
    if constexpr (sizeof(T) == 2)
        if (may_use_library(batch) && suits_tensor_cores(batch, m.q, m.k, m.v, m.out) &&
            library_takes_forward(ctx, batch, m))
            return {m.log_sum_exp, 1, batch.heads};
    return {m.log_sum_exp, batch.queries.total, 1};
}

// Processes as many heads together as the memory for the gradients of their scores allows.
template <class T>
void mma_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                  const ScoreGradients<T>& ds, int together) {
    for (int first = 0; first < batch.heads; first += together) {
        AttentionBatch heads = batch;
        heads.first_head = first;
        heads.heads = std::min(together, batch.heads - first);
        mma_backward_keys(ctx, heads, m, ds);
        mma_backward_queries(ctx, heads, m, ds);
    }
}

template <class T>
void own_backward(CudaContext& ctx, const AttentionBatch& batch, BackwardMatrices<T> m,
                  const AttentionBiases<CudaSpace>& biases) {
    const bool by_tensor_cores = sizeof(T) == 2 && tensor_cores_take(batch, m);
    const bool shared = batch.heads_per_key > 1;
    if constexpr (sizeof(T) == 2)
        if (by_tensor_cores && !shared && mma_backward_short(ctx, batch, m, biases)) return;
    const BackwardShape shape = backward_shape(batch);
    auto ds = ScoreGradients<T>::of(batch);
    const auto together =
        static_cast<int>(heads_together(shape, ctx.cached<AttentionSettings>().max_score_bytes));
    const std::int64_t score_bytes = by_tensor_cores ? together * score_bytes_of_head(shape) : 0;
    const std::int64_t key_bytes =
        shared ? key_gradient_bytes(shape, batch.head_dim, sizeof(T)) : 0;
    const std::int64_t bytes = key_bytes + delta_bytes(shape) + score_bytes;
    std::byte* scratch = ctx.scratch<std::byte>(static_cast<std::size_t>(bytes)).data();
    const CudaMatrix<T> dk = m.dk, dv = m.dv;
    if (shared) {
        const std::int64_t width = std::int64_t{batch.heads} * batch.head_dim;
        m.dk = {reinterpret_cast<T*>(scratch), dk.rows, width};
        m.dv = {m.dk.data + dk.rows * width, dk.rows, width};
        scratch += key_bytes;
    }
    auto* delta = reinterpret_cast<float*>(scratch);
    attention_delta(ctx, batch, m.out, m.d_out, delta);
    m.delta = {delta, batch.queries.total, 1};
    ds.data = reinterpret_cast<T*>(scratch + delta_bytes(shape));
    if constexpr (sizeof(T) == 2)
        if (by_tensor_cores) mma_backward(ctx, batch, m, ds, together);
    if (!by_tensor_cores) plain_backward(ctx, batch, m);
    if (shared) {
        sum_shared_heads<T>(ctx, batch, m.dk, dk);
        sum_shared_heads<T>(ctx, batch, m.dv, dv);
    }
    sum_attention_biases<T>(ctx, biases, m.dq, dk, dv);
}

template <class T>
void backward_by(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                 BackwardBy way, const AttentionBiases<CudaSpace>& biases) {
    if constexpr (sizeof(T) == 2) {
        const LibrarySums sums =
            way == BackwardBy::library ? LibrarySums::in_fixed_order : LibrarySums::in_any_order;
        if (way != BackwardBy::own && library_backward(ctx, batch, m, sums))
            return sum_attention_biases<T>(ctx, biases, m.dq, m.dk, m.dv);
    }
    own_backward(ctx, batch, m, biases);
}

// Returns the implementations that can process the batch, the usual one first.
template <class T>
std::vector<BackwardBy> ways_of(CudaContext& ctx, const AttentionBatch& batch,
                                const BackwardMatrices<T>& m) {
    std::vector<BackwardBy> ways{BackwardBy::own};
    if constexpr (sizeof(T) == 2) {
        if (m.log_sum_exp.head_stride != 1 || !may_use_library(batch) ||
            !tensor_cores_take(batch, m))
            return ways;
        const auto& settings = ctx.cached<AttentionSettings>();
        const bool any_order = settings.library == AttentionLibrary::in_any_order;
        if (!any_order && library_takes_backward(ctx, batch, m, LibrarySums::in_fixed_order))
            ways.insert(ways.begin(), BackwardBy::library);
        if ((any_order || settings.autotune) &&
            library_takes_backward(ctx, batch, m, LibrarySums::in_any_order))
            ways.insert(any_order ? ways.begin() : ways.end(), BackwardBy::library_in_any_order);
    }
    return ways;
}

template <class T>
void backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
              const AttentionBiases<CudaSpace>& biases) {
    const auto ways = ways_of(ctx, batch, m);
    if (!ctx.cached<AttentionSettings>().autotune)
        return backward_by(ctx, batch, m, ways.front(), biases);
    // Measured runs get no biases: the bias sums may add to what is there, which must happen only
    // once.
    const auto milliseconds = [&](BackwardBy way) {
        return milliseconds_of(ctx, [&] { backward_by(ctx, batch, m, way, {}); });
    };
    backward_by(ctx, batch, m, ctx.cached<BackwardSearch>().of(ctx, batch, ways, milliseconds),
                biases);
}

}  // namespace

template <class T>
void attention_forward(CudaContext& ctx, const AttentionForward<T, CudaSpace>& o) {
    check(o);
    forward<T>(ctx, batch_of(o), {o.q, o.k, o.v, o.out, o.log_sum_exp.data()});
}

template <class T>
void attention_backward(CudaContext& ctx, const AttentionBackward<T, CudaSpace>& o) {
    check(o);
    const AttentionBatch batch = batch_of(o);
    // The same question gets the same answer as in forward; nothing writes to it.
    const CudaMatrix<T> out{const_cast<T*>(o.out.data), o.out.rows, o.out.cols, o.out.stride};
    const Statistics statistics = statistics_of<T>(
        ctx, batch, {o.q, o.k, o.v, out, const_cast<float*>(o.log_sum_exp.data())});
    backward<T>(ctx, batch, {o.q, o.k, o.v, o.out, o.d_out, statistics, {}, o.dq, o.dk, o.dv},
                o.biases);
}

template void attention_forward(CudaContext&, const AttentionForward<float, CudaSpace>&);
template void attention_forward(CudaContext&, const AttentionForward<bf16, CudaSpace>&);
template void attention_forward(CudaContext&, const AttentionForward<fp16, CudaSpace>&);
template void attention_backward(CudaContext&, const AttentionBackward<float, CudaSpace>&);
template void attention_backward(CudaContext&, const AttentionBackward<bf16, CudaSpace>&);
template void attention_backward(CudaContext&, const AttentionBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
