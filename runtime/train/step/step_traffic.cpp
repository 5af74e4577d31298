// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/step_traffic.hpp"

namespace lockstep::train {

namespace {

// Returns what a rank of `ranks` sends of this many bytes in half an all-reduce.
std::int64_t around_ring(std::int64_t bytes, int ranks) { return bytes * (ranks - 1) / ranks; }

}  // namespace

std::int64_t bytes_sent_in_step(const ParameterTable& table, Precision precision,
                                const ReducerOptions& options, int ranks) {
    const int sharing = table.sharing(), replicas = ranks / sharing;
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const std::int64_t gradients =
        elements * static_cast<std::int64_t>(bytes_of(options.comm_dtype));
    if (sharing == 1) return 2 * around_ring(gradients, ranks);
    const std::int64_t weights = elements * (precision == Precision::fp32 ? 4 : 2);
    return around_ring(gradients, sharing) + 2 * around_ring(gradients / sharing, replicas) +
           around_ring(weights, sharing);
}

}  // namespace lockstep::train
