// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "runtime/train/reduction/stage_sums_inl.hpp"
#include "runtime/train/reduction/tensor_sums_inl.hpp"
#include "runtime/train/step/device_engine.hpp"

// What an engine does among the ranks among which its model is divided.
namespace lockstep::train {

template <class Ctx>
auto DeviceEngine<Ctx>::model_groups() const
    -> std::vector<std::pair<comm::Collectives<Space>*, const char*>> {
    std::vector<std::pair<comm::Collectives<Space>*, const char*>> groups;
    if (tensor_sums_) groups.emplace_back(parts_.tensor.collectives, "the tensor ranks");
    if (!stage_sums_) return groups;
    groups.emplace_back(parts_.stages.collectives, "the stages");
    if (parts_.stages.ends != nullptr)
        groups.emplace_back(parts_.stages.ends, "the first and the last stage");
    return groups;
}

template <class Ctx>
comm::Activity DeviceEngine<Ctx>::activity() const {
    comm::Activity sum = mesh_.activity();
    for (const auto& [group, ranks] : model_groups()) {
        comm::Activity one = group->activity();
        sum.completed += one.completed;
        sum.waited_for = sum.waited_for || one.waited_for;
        if (sum.operation.empty() && !one.operation.empty())
            sum.operation = std::move(one.operation) + " among " + ranks;
    }
    return sum;
}

// Adds what the ranks have among which the model is divided.
template <class Ctx>
void DeviceEngine<Ctx>::add_over_model(kernels::Step* step) {
    const View<double, Space> losses(&step->sums.losses.loss, kernels::StepSums::count);
    const auto add = [&](auto& sums) {
        sums.add(losses);
        sums.add_squares({&step->squares, 1});
    };
    if (tensor_sums_) add(*tensor_sums_);
    if (stage_sums_) add(*stage_sums_);
}

template <class Ctx>
std::vector<Wait> DeviceEngine<Ctx>::take_exchanges(StepResult& result) {
    std::vector<Wait> waits;
    for (const auto& [group, ranks] : model_groups()) {
        Exchanges& sum = group == parts_.tensor.collectives ? result.tensor : result.pipeline;
        for (comm::Timing& timing : group->take_timings()) {
            sum.bytes += timing.bytes;
            sum.seconds += seconds_between(timing.begin, timing.end);
            waits.push_back({timing.begin, timing.end});
            parts_.trace.add("communication", std::move(timing.label), timing.begin, timing.end);
        }
    }
    return waits;
}

// Every exchange among the ranks of a divided model is waited for at once, so that its time is one
// in which this rank computes nothing.
template <class Ctx>
std::vector<Wait> DeviceEngine<Ctx>::count_exchanges(StepResult& result) {
    std::vector<Wait> waits = take_exchanges(result);
    result.reduction.waits.insert(result.reduction.waits.end(), waits.begin(), waits.end());
    result.reduction.blocked_s += result.tensor.seconds + result.pipeline.seconds;
    return waits;
}

}  // namespace lockstep::train
