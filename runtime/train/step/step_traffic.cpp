// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/step_traffic.hpp"

#include <algorithm>

#include "runtime/train/step/buckets.hpp"

namespace lockstep::train {

namespace {

// Returns what a rank of `ranks` sends of this many bytes in half an all-reduce.
std::int64_t around_ring(std::int64_t bytes, int ranks) { return bytes * (ranks - 1) / ranks; }

// Returns how many weights ranks gather in a step at stage 3. Forward finds the segments in the two
// slots that backward has left there, and the other way round; the last one stays for the step.
std::int64_t gathered_weights(const std::vector<Segment>& segments, std::int64_t passes) {
    std::int64_t moving = 0;
    for (const Segment& segment : segments) moving += static_cast<std::int64_t>(segment.count);
    const std::size_t last = segments.size() - 1;
    const auto last_count = static_cast<std::int64_t>(segments[last].count);
    moving -= last_count;
    std::int64_t first_two = 0, last_two = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, last); ++i) {
        first_two += static_cast<std::int64_t>(segments[i].count);
        last_two += static_cast<std::int64_t>(segments[last - 1 - i].count);
    }
    return last_count + moving + (moving - first_two) * passes + (moving - last_two) * (passes - 1);
}

}  // namespace

std::int64_t bytes_sent_in_step(const ParameterTable& table, Precision precision,
                                const ReducerOptions& options, int ranks, std::int64_t passes) {
    const int sharing = table.sharing(), replicas = ranks / sharing;
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const std::int64_t gradients =
        elements * static_cast<std::int64_t>(bytes_of(options.comm_dtype));
    if (sharing == 1) return 2 * around_ring(gradients, ranks);
    const std::int64_t gathered =
        table.stage() < 3 ? elements : gathered_weights(plan_segments(table, options), passes);
    const std::int64_t weights = gathered * (precision == Precision::fp32 ? 4 : 2);
    // From stage 2 on, the sums of all passes go between replicas, in fp32.
    const bool by_pass = table.stage() >= 2;
    const std::int64_t owned = by_pass ? elements / sharing * 4 : gradients / sharing;
    return (by_pass ? passes : 1) * around_ring(gradients, sharing) +
           2 * around_ring(owned, replicas) + around_ring(weights, sharing);
}

}  // namespace lockstep::train
