// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/attention.hpp"

#include "runtime/kernels/attention_biases.hpp"
#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"
#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"

namespace lockstep::kernels {

using namespace cpu;

namespace {

template <class T>
void fill_zero_filler(const AttentionBackward<T, HostSpace>& o) {
    const auto &q_offsets = o.sequences.q_offsets, &k_offsets = o.sequences.k_offsets;
    const std::int64_t q_real = q_offsets[q_offsets.size() - 1];
    const std::int64_t k_real = k_offsets[k_offsets.size() - 1];
    fill_zero_rows(o.dq, q_real, o.dq.rows - q_real);
    fill_zero_rows(o.dk, k_real, o.dk.rows - k_real);
    fill_zero_rows(o.dv, k_real, o.dv.rows - k_real);
}

}  // namespace

template <class T>
void attention_forward(CpuContext& ctx, const AttentionForward<T, HostSpace>& o) {
    check(o);
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, query_block, scratch.tasks);
    if (suits_tiles<T>(o.shape.head_dim))
        forward_by_tiles(ctx, o, scratch);
    else if (multiplies<T>())
        forward_by_blocks<T>(ctx, o, scratch);
    else
        forward_by_blocks<float>(ctx, o, scratch);
    const std::int64_t real = o.sequences.q_offsets[o.sequences.q_offsets.size() - 1];
    fill_zero_rows(o.out, real, o.out.rows - real);
}

template <class T>
void attention_backward(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o) {
    check(o);
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, static_cast<int>(o.q.rows) + 1,
               scratch.tasks);
    if (suits_tiles<T>(o.shape.head_dim))
        backward_by_tiles(ctx, o, scratch);
    else if (multiplies<T>())
        backward_by_blocks<T>(ctx, o, scratch);
    else
        backward_by_blocks<float>(ctx, o, scratch);
    fill_zero_filler(o);
    sum_attention_biases<T>(ctx, o.biases, o.dq, o.dk, o.dv);
}

template void attention_forward(CpuContext&, const AttentionForward<float, HostSpace>&);
template void attention_forward(CpuContext&, const AttentionForward<bf16, HostSpace>&);
template void attention_backward(CpuContext&, const AttentionBackward<float, HostSpace>&);
template void attention_backward(CpuContext&, const AttentionBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
