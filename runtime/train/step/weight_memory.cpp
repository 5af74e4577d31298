// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/weight_memory.hpp"

#include <algorithm>

#include "runtime/core/bf16.hpp"
#include "runtime/train/optim/optimizer_parts.hpp"
#include "runtime/train/step/exchange.hpp"
#include "runtime/train/step/lane_exchange.hpp"
#include "runtime/train/step/tied_table.hpp"

namespace lockstep::train {

namespace {

// AdafactorOptimizer keeps the sums of rows and columns of a matrix, and all elements of any other
// parameter.
std::size_t adafactor_floats(const OptimizerOptions& options, const ParameterTable& table) {
    std::size_t floats = 0, largest = 0;
    for (const Parameter& parameter : table.all()) {
        const PartShape part = part_shape(parameter);
        floats += part.is_matrix()
                      ? static_cast<std::size_t>(parameter.parts * (part.rows + part.cols))
                      : parameter.count;
        if (options.beta1 != 0) floats += parameter.count;
        largest = std::max(largest, parameter.count);
    }
    return floats + largest;
}

// Returns the floats that LaneSums keeps on the rank that needs the most.
std::size_t lane_floats(const ParameterTable& table, const TrainOptions& options, int ranks) {
    std::size_t waiting = 0;
    for (int rank = 0; rank < ranks; ++rank)
        waiting = std::max(
            waiting, waiting_branches(lanes_of_rank(options.lanes, rank, ranks), options.lanes));
    const std::size_t received =
        ranks == 1
            ? 0
            : received_floats(options.lanes, ranks, largest(plan_buckets(table, options.reducer)));
    return waiting * table.flat_size() + received;
}

}  // namespace

std::size_t optimizer_bytes(const OptimizerOptions& options, const ParameterTable& table) {
    const std::size_t elements = table.flat_size(), moment = elements * sizeof(float);
    switch (options.kind) {
        case OptimizerKind::sgd:
            return options.momentum == 0 ? 0 : moment;
        case OptimizerKind::adam:
        case OptimizerKind::adamw:
            if (options.moments == Moments::int8)
                return 2 * (elements + kernels::moment_scales(elements) * sizeof(float));
            return (options.amsgrad ? 3 : 2) * moment;
        case OptimizerKind::lion:
            return moment;
        case OptimizerKind::adafactor:
            break;
    }
    return adafactor_floats(options, table) * sizeof(float);
}

WeightMemory weight_memory(const ParameterTable& table, Precision precision, Master master,
                           const TrainOptions& options, int ranks) {
    const std::size_t weights = table.flat_size();
    const auto sharing = static_cast<std::size_t>(table.sharing());
    const bool fp32 = precision == Precision::fp32;
    const int stage = table.stage();
    const std::size_t in_slots =
        stage < 2 ? 0 : Placement(plan_segments(table, options.reducer)).size();
    const std::size_t kept = fp32 && stage < 3 ? weights : weights / sharing;
    WeightMemory memory;
    memory.master = master == Master::kept ? kept * sizeof(float) : 0;
    if (!fp32 || stage == 3)
        memory.compute = (stage == 3 ? in_slots : weights) * (fp32 ? sizeof(float) : sizeof(bf16));
    memory.gradient =
        stage < 2 ? weights * sizeof(float) : (in_slots + weights / sharing) * sizeof(float);
    memory.optimizer = optimizer_bytes(options.optimizer, table) / sharing;
    if (options.optimizer.kind != OptimizerKind::adafactor)
        memory.optimizer += decay_lines(table, options.optimizer.weight_decay,
                                        owned_parts(table, options.reducer, 0))
                                .size() *
                            sizeof(std::uint32_t);
    if (options.reducer.lane_order == LaneOrder::fixed)
        memory.lane_sums = lane_floats(table, options, ranks) * sizeof(float);
    if (ranks == 1) return memory;
    if (options.reducer.comm_dtype == Dtype::bf16)
        memory.exchanged =
            (stage < 2 ? exchange_spare(plan_buckets(table, options.reducer), options.reducer)
                       : in_slots) *
            sizeof(bf16);
    if (options.reducer.table_sum == TableSum::in_parts)
        memory.tied_rows = tied_rows_bytes(*tied_table(table));
    return memory;
}

}  // namespace lockstep::train
