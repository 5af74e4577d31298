// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"

#include <oneapi/dnnl/dnnl.h>

namespace lockstep::kernels::cpu {

void plan_tasks(const AttentionShape& shape, const Sequences<HostSpace>& sequences,
                std::int64_t q_total, std::int64_t k_total, int queries_per_task,
                std::vector<AttentionTask>& tasks) {
    const auto& q = sequences.q_offsets;
    const auto& k = sequences.k_offsets;
    require(q[q.size() - 1] <= q_total && k[k.size() - 1] <= k_total,
            "attention: offsets past the last row");
    tasks.clear();
    for (std::size_t s = 0; s + 1 < q.size(); ++s) {
        const int queries = q[s + 1] - q[s];
        const int keys = k[s + 1] - k[s];
        require(shape.mask == Mask::none || queries == keys,
                "attention: a causal sequence has as many keys as queries");
        int first = 0;
        do {  // runs once even without queries: the gradients of the keys are zeros then
            const int count = std::min(queries_per_task, queries - first);
            const int visible = shape.mask == Mask::causal ? first + count : keys;
            tasks.push_back({q[s], k[s], first, count, visible, sequences.rows[s]});
            first += count;
        } while (first < queries);
    }
    std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
        const auto cost = [](const auto& t) { return std::int64_t{t.q_count} * t.k_count; };
        if (cost(a) != cost(b)) return cost(a) > cost(b);
        return a.q_row + a.q_first < b.q_row + b.q_first;
    });
}

void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<bf16> a, Operand<bf16> b,
                     Into into, float* c, std::int64_t c_stride) {
    const auto factor = [](const Operand<bf16>& x) {
        return x.side == Side::plain ? Factor{x.block.data, Dtype::bf16, x.block.stride, 1}
                                     : Factor{x.block.data, Dtype::bf16, 1, x.block.stride};
    };
    const bool done =
        products.run({m, n, k, factor(a), factor(b), nullptr, c, Dtype::fp32, c_stride, into});
    if (!done) throw Error(ErrorKind::dnnl, "attention: oneDNN has no product of these blocks");
}

// The general product is faster for blocks of floats, and needs no primitive for each length.
void multiply_blocks(MatmulCache&, int m, int n, int k, Operand<float> a, Operand<float> b,
                     Into into, float* c, std::int64_t c_stride) {
    const auto letter = [](Side side) { return side == Side::plain ? 'N' : 'T'; };
    const float beta = into == Into::add ? 1.0f : 0.0f;
    const dnnl_status_t status =
        dnnl_sgemm(letter(a.side), letter(b.side), m, n, k, 1.0f, a.block.data, a.block.stride,
                   b.block.data, b.block.stride, beta, c, c_stride);
    if (status != dnnl_success) product_failed("a product of attention", status);
}

}  // namespace lockstep::kernels::cpu
