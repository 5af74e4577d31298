// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cuda/attention_kernels.hpp"

// Contracts of attention, and which kernels do it.
namespace lockstep::kernels {

namespace {

using namespace cuda;

RaggedSide side_of(CudaView<const std::int32_t> offsets, std::int64_t total, std::int32_t longest) {
    require(total <= std::numeric_limits<std::int32_t>::max(), "attention: too many tokens");
    const auto all = static_cast<int>(total);
    return {offsets.data(), total, longest > 0 ? std::min(longest, all) : all};
}

AttentionBatch batch_of(const AttentionShape& shape, const Dropout& site,
                        const Sequences<CudaSpace>& sequences, std::int64_t q_total,
                        std::int64_t k_total) {
    require(shape.head_dim > 0 && shape.head_dim <= most_head_dim,
            "attention on GPUs: a head has 1 to 256 columns");
    require(
        !sequences.q_offsets.empty() && sequences.q_offsets.size() == sequences.k_offsets.size(),
        "attention: q and k offsets of unequal sizes");
    require(sequences.rows.size() + 1 == sequences.q_offsets.size(),
            "attention: one global row per sequence");
    return {side_of(sequences.q_offsets, q_total, sequences.longest_q),
            side_of(sequences.k_offsets, k_total, sequences.longest_k),
            sequences.rows.data(),
            static_cast<int>(sequences.rows.size()),
            shape.heads,
            shape.head_dim,
            shape.mask,
            mask_of(site, {}, 0),
            1.0f / std::sqrt(static_cast<float>(shape.head_dim))};
}

}  // namespace

template <class T>
void attention_forward(CudaContext& ctx, const AttentionShape& shape, const Dropout& site,
                       const Sequences<CudaSpace>& sequences, CudaMatrix<const T> q,
                       CudaMatrix<const T> k, CudaMatrix<const T> v, CudaMatrix<T> out,
                       CudaView<float> log_sum_exp) {
    require(q.cols == shape.heads * shape.head_dim && k.cols == q.cols && v.cols == q.cols &&
                out.cols == q.cols && out.rows == q.rows && v.rows == k.rows,
            "attention_forward: shapes do not fit");
    require(log_sum_exp.size() == static_cast<std::size_t>(shape.heads * q.rows),
            "attention_forward: log_sum_exp is [heads * q_total]");
    const AttentionBatch batch = batch_of(shape, site, sequences, q.rows, k.rows);
    plain_forward<T>(ctx, batch, {q, k, v, out, log_sum_exp.data()});
}

template <class T>
void attention_backward(CudaContext& ctx, const AttentionShape& shape, const Dropout& site,
                        const Sequences<CudaSpace>& sequences, CudaMatrix<const T> q,
                        CudaMatrix<const T> k, CudaMatrix<const T> v, CudaMatrix<const T> out,
                        CudaView<const float> log_sum_exp, CudaMatrix<const T> d_out,
                        CudaMatrix<T> dq, CudaMatrix<T> dk, CudaMatrix<T> dv) {
    require(q.cols == shape.heads * shape.head_dim && k.cols == q.cols && v.cols == q.cols &&
                out.cols == q.cols && d_out.cols == q.cols && dq.cols == q.cols &&
                dk.cols == q.cols && dv.cols == q.cols,
            "attention_backward: widths do not fit");
    require(out.rows == q.rows && d_out.rows == q.rows && dq.rows == q.rows && v.rows == k.rows &&
                dk.rows == k.rows && dv.rows == k.rows &&
                log_sum_exp.size() == static_cast<std::size_t>(shape.heads * q.rows),
            "attention_backward: heights do not fit");
    const AttentionBatch batch = batch_of(shape, site, sequences, q.rows, k.rows);
    float* delta = ctx.scratch<float>(log_sum_exp.size()).data();
    attention_delta<T>(ctx, batch, out, d_out, delta);
    plain_backward<T>(ctx, batch, {q, k, v, out, d_out, log_sum_exp.data(), delta, dq, dk, dv});
}

template void attention_forward(CudaContext&, const AttentionShape&, const Dropout&,
                                const Sequences<CudaSpace>&, CudaMatrix<const float>,
                                CudaMatrix<const float>, CudaMatrix<const float>, CudaMatrix<float>,
                                CudaView<float>);
template void attention_backward(CudaContext&, const AttentionShape&, const Dropout&,
                                 const Sequences<CudaSpace>&, CudaMatrix<const float>,
                                 CudaMatrix<const float>, CudaMatrix<const float>,
                                 CudaMatrix<const float>, CudaView<const float>,
                                 CudaMatrix<const float>, CudaMatrix<float>, CudaMatrix<float>,
                                 CudaMatrix<float>);
template void attention_forward(CudaContext&, const AttentionShape&, const Dropout&,
                                const Sequences<CudaSpace>&, CudaMatrix<const bf16>,
                                CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<bf16>,
                                CudaView<float>);
template void attention_backward(CudaContext&, const AttentionShape&, const Dropout&,
                                 const Sequences<CudaSpace>&, CudaMatrix<const bf16>,
                                 CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                 CudaMatrix<const bf16>, CudaView<const float>,
                                 CudaMatrix<const bf16>, CudaMatrix<bf16>, CudaMatrix<bf16>,
                                 CudaMatrix<bf16>);
template void attention_forward(CudaContext&, const AttentionShape&, const Dropout&,
                                const Sequences<CudaSpace>&, CudaMatrix<const fp16>,
                                CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<fp16>,
                                CudaView<float>);
template void attention_backward(CudaContext&, const AttentionShape&, const Dropout&,
                                 const Sequences<CudaSpace>&, CudaMatrix<const fp16>,
                                 CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                 CudaMatrix<const fp16>, CudaView<const float>,
                                 CudaMatrix<const fp16>, CudaMatrix<fp16>, CudaMatrix<fp16>,
                                 CudaMatrix<fp16>);

}  // namespace lockstep::kernels
