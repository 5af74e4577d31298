// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/step/device_engine.hpp"
#include "runtime/train/step/stage_turns.hpp"

// What an engine does whose rank has some of the layers.
namespace lockstep::train {

// A device's memory is not exchanged: only CPUs have stages, and a plan sends nothing.
template <class Ctx>
void DeviceEngine<Ctx>::exchange(const std::optional<SentRows>& sent,
                                 const std::optional<SentRows>& received) {
    if constexpr (std::is_same_v<Space, HostSpace>) {
        const auto message = [](const std::optional<SentRows>& rows) {
            std::optional<comm::Message> one;
            if (rows) one.emplace(comm::Message{rows->rows, rows->stage});
            return one;
        };
        if (!sent && !received) return;
        comm::Communicator& stages = *parts_.messages;
        stages.finish(stages.exchange(message(sent), message(received), "rows"));
    }
}

template <class Ctx>
auto DeviceEngine<Ctx>::take_turn(const StageTurn& turn, const Batch& batch, std::size_t slot)
    -> comm::Range<Space> {
    kernels::Step* const step = step_.view().data();
    if (turn.way == Way::forward) return parts_.passes->forward(slot, batch, &step->state);
    const kernels::Into into =
        turn.micro_batch == 0 ? kernels::Into::overwrite : kernels::Into::add;
    const auto rows = parts_.passes->backward(slot, &step->state, &step->batch, into);
    end_micro_batch(parts_.context, step);
    return rows;
}

// The buckets go when all turns are over. If they went earlier, the rows that the stages before
// wait for would come after them.
template <class Ctx>
void DeviceEngine<Ctx>::accumulate_by_turns(const std::vector<Batch>& lanes, Spans& spans) {
    const PipelineStage& stage = parts_.stages.stage;
    std::vector<const Batch*> batches;
    for (const Batch& batch : lanes)
        if (!batch.empty()) batches.push_back(&batch);
    finish_weights();
    if (batches.empty()) kernels::fill_zero(parts_.context, parts_.store.gradient());
    const auto count = static_cast<std::int64_t>(batches.size());
    const std::int64_t slots = std::max<std::int64_t>(1, stage.in_flight(count));
    std::optional<SentRows> result;
    for (const StageTurn& turn : turns_of(stage, count)) {
        const Batch& batch = *batches[static_cast<std::size_t>(turn.micro_batch)];
        std::optional<SentRows> read;
        if (const int from = sender_for(stage, turn); from >= 0)
            read.emplace(SentRows{parts_.passes->arriving(batch), from});
        exchange(result, read);
        device::Stopwatch<Ctx> watch(parts_.context);
        const auto rows =
            take_turn(turn, batch, static_cast<std::size_t>(turn.micro_batch % slots));
        spans.lanes.push_back(watch.lap());
        result.reset();
        if (const int to = receiver_of(stage, turn); to >= 0) result.emplace(SentRows{rows, to});
    }
    exchange(result, std::nullopt);
    flat_reducer_->all_ready();
}

}  // namespace lockstep::train
