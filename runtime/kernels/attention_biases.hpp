// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/linear.hpp"

namespace lockstep::kernels {

// Writes `biases` from gradients that are in memory. Gradients that lie side by side, as one
// product reads them, are summed by one call.
template <class T, class Ctx, class Space>
void sum_attention_biases(Ctx& ctx, const AttentionBiases<Space>& biases, MatrixView<T, Space> dq,
                          MatrixView<T, Space> dk, MatrixView<T, Space> dv) {
    if (biases.q.empty()) return;
    MatrixView<const T, Space> gradient = dq;
    View<float, Space> sums = biases.q;
    const auto add = [&](MatrixView<const T, Space> next, View<float, Space> next_sums) {
        if (next.data == gradient.data + gradient.cols && next.stride == gradient.stride &&
            next.rows == gradient.rows && next_sums.data() == sums.data() + sums.size()) {
            gradient.cols += next.cols;
            sums = {sums.data(), sums.size() + next_sums.size()};
            return;
        }
        bias_backward<T>(ctx, gradient, sums, biases.into);
        gradient = next;
        sums = next_sums;
    };
    add(dk, biases.k);
    add(dv, biases.v);
    bias_backward<T>(ctx, gradient, sums, biases.into);
}

}  // namespace lockstep::kernels
