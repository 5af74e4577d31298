// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/attention_tasks.hpp"

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

}  // namespace lockstep::kernels::cpu
