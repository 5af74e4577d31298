// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/step_traffic.hpp"

#include <algorithm>

#include "runtime/batch/lane_range.hpp"
#include "runtime/train/step/buckets.hpp"
#include "runtime/train/step/lane_tree.hpp"

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

// Returns what a rank sends of gradients that are added as LaneExchange does: of each branch of its
// own the parts of the others, and to the others the sum of its part.
std::int64_t lane_sums_sent(std::int64_t gradients, const Senders& senders) {
    std::size_t most = 0;
    for (int rank = 0; rank < senders.ranks; ++rank) {
        const LaneRange lanes = lanes_of_rank(senders.lanes, rank, senders.ranks);
        most = std::max(most, branches_of(lanes, senders.lanes).size());
    }
    return static_cast<std::int64_t>(most + 1) * around_ring(gradients, senders.ranks);
}

// Adds what a rank sends of the gradients at stages 1 to 3.
void add_shared_sums(StepTraffic& sent, const ParameterTable& table, const ReducerOptions& options,
                     const Senders& senders, std::int64_t passes) {
    const int sharing = table.sharing(), replicas = senders.ranks / sharing;
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const auto gradients = elements * static_cast<std::int64_t>(bytes_of(options.comm_dtype));
    // From stage 2 on, the sums of all passes go between replicas, in fp32.
    const bool by_pass = table.stage() >= 2;
    const std::int64_t owned = by_pass ? elements / sharing * 4 : gradients / sharing;
    const int halves = senders.half_sums == HalfSums::halves ? 1 : 2;
    sent.gradients = halves * (by_pass ? passes : 1) * around_ring(gradients, sharing);
    sent.replicas = 2 * around_ring(owned, replicas);
}

}  // namespace

StepTraffic step_traffic(const ParameterTable& table, Precision precision,
                         const ReducerOptions& options, const Senders& senders) {
    const int sharing = table.sharing();
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const auto gradients = elements * static_cast<std::int64_t>(bytes_of(options.comm_dtype));
    const std::int64_t passes = lanes_of_rank(senders.lanes, 0, senders.ranks).count();
    const std::int64_t gathered =
        table.stage() < 3 ? elements : gathered_weights(plan_segments(table, options), passes);
    StepTraffic sent;
    sent.weights = around_ring(gathered * (precision == Precision::fp32 ? 4 : 2), sharing);
    if (options.lane_order == LaneOrder::fixed)
        (sharing == senders.ranks && sharing > 1 ? sent.gradients : sent.replicas) =
            lane_sums_sent(gradients, senders);
    else if (sharing == 1)
        sent.replicas = 2 * around_ring(gradients, senders.ranks);
    else
        add_shared_sums(sent, table, options, senders, passes);
    return sent;
}

std::int64_t bytes_sent_in_step(const ParameterTable& table, Precision precision,
                                const ReducerOptions& options, const Senders& senders) {
    return step_traffic(table, precision, options, senders).total();
}

}  // namespace lockstep::train
