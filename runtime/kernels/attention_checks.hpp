// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/attention.hpp"

// The contracts of attention's operands, which hold on every device. A check throws Error.
namespace lockstep::kernels {

inline void check(const AttentionShape& shape) {
    require(shape.heads > 0 && shape.kv_heads >= 0 && shape.heads % shape.key_heads() == 0,
            "attention: the heads are no multiple of those of keys and values");
    require(shape.window >= 0 && (shape.window == 0 || shape.mask == Mask::causal),
            "attention: a window needs the causal mask");
}

template <class Space>
void check(const Sequences<Space>& sequences) {
    require(
        !sequences.q_offsets.empty() && sequences.q_offsets.size() == sequences.k_offsets.size(),
        "attention: q and k offsets of unequal sizes");
    require(sequences.rows.size() + 1 == sequences.q_offsets.size(),
            "attention: one global row per sequence");
}

template <class T, class Space>
void check(const AttentionForward<T, Space>& o) {
    check(o.shape);
    const std::int64_t width = o.shape.q_width(), kv_width = o.shape.kv_width();
    require(o.q.cols == width && o.k.cols == kv_width && o.v.cols == kv_width &&
                o.out.cols == width && o.out.rows == o.q.rows && o.v.rows == o.k.rows,
            "attention_forward: shapes do not fit");
    require(o.log_sum_exp.size() == static_cast<std::size_t>(o.shape.heads * o.q.rows),
            "attention_forward: log_sum_exp is [heads * q_total]");
    check(o.sequences);
}

template <class T, class Space>
void check(const AttentionBackward<T, Space>& o) {
    check(o.shape);
    const std::int64_t width = o.shape.q_width(), kv_width = o.shape.kv_width();
    require(o.q.cols == width && o.k.cols == kv_width && o.v.cols == kv_width &&
                o.out.cols == width && o.d_out.cols == width && o.dq.cols == width &&
                o.dk.cols == kv_width && o.dv.cols == kv_width,
            "attention_backward: widths do not fit");
    require(o.out.rows == o.q.rows && o.d_out.rows == o.q.rows && o.dq.rows == o.q.rows &&
                o.v.rows == o.k.rows && o.dk.rows == o.k.rows && o.dv.rows == o.k.rows &&
                o.log_sum_exp.size() == static_cast<std::size_t>(o.shape.heads * o.q.rows),
            "attention_backward: heights do not fit");
    check(o.sequences);
}

template <class T, class Space>
void check(const AttentionDecode<T, Space>& o) {
    check(o.shape);
    const std::int64_t width = o.shape.q_width(), kv_width = o.shape.kv_width();
    const auto sequences = static_cast<std::int64_t>(o.begin.size());
    require(o.q.cols == width && o.k_cache.cols == kv_width && o.v_cache.cols == kv_width &&
                o.out.cols == width && o.v_cache.rows == o.k_cache.rows,
            "attention_decode: shapes do not fit");
    require(o.length.size() == o.begin.size() && o.q.rows == sequences && o.out.rows == sequences,
            "attention_decode: one query per sequence");
}

}  // namespace lockstep::kernels
