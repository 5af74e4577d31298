// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// halves: a reduce-scatter sends half of what an all-reduce sends. as_whole_ones: it is an
// all-reduce, as where GPUs have no NCCL.
enum class HalfSums { halves, as_whole_ones };

// Tells who sends gradients, and how.
struct Senders {
    int ranks = 1;
    std::int64_t lanes = 1;  // of all ranks, at least one of each
    HalfSums half_sums = HalfSums::halves;
};

// The bytes that a rank sends in a step, by the group among which they travel.
struct StepTraffic {
    std::int64_t weights = 0;    // gathers among the ranks that share a replica
    std::int64_t gradients = 0;  // sums among these ranks
    std::int64_t replicas = 0;   // sums between replicas: of whole gradients if nothing is shared

    std::int64_t total() const noexcept { return weights + gradients + replicas; }
};

// Returns the bytes of gradients and weights that a rank sends in a step if every collective goes
// around a ring: an all-reduce among n ranks sends 2 (n - 1) / n of its bytes, a reduce-scatter or
// an all-gather half of that. Of ranks that send different amounts it is the most. The table says
// how many ranks share a replica. The rows of a tied table that is summed in parts, and sums of a
// few numbers, are not counted.
StepTraffic step_traffic(const ParameterTable& table, Precision precision,
                         const ReducerOptions& options, const Senders& senders);
// Returns the sum over all groups.
std::int64_t bytes_sent_in_step(const ParameterTable& table, Precision precision,
                                const ReducerOptions& options, const Senders& senders);

}  // namespace lockstep::train
