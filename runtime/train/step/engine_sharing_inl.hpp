// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/slot_reducer_inl.hpp"
#include "runtime/train/sharing/parameter_sync.hpp"
#include "runtime/train/step/device_engine.hpp"

// What an engine does so that ranks begin with the same state, and share it.
namespace lockstep::train {

template <class Ctx>
void DeviceEngine<Ctx>::share_replica() {
    if (flat_reducer_) flat_reducer_->share_by(mesh_, parts_.store.owned());
    const std::vector<Bucket>& buckets = reducer().buckets();
    shared_.emplace(
        Shared{{parts_.context, parts_.communicator, parts_.store, *optimizer_, buckets},
               {parts_.context, parts_.store, *optimizer_,
                [this](OwnedAccess::Written what) { use_owned(what); }},
               {mesh_.shard(), parts_.store, buckets},
               {}});
    if (!parts_.store.weight_placement().has_slots()) return;
    shared_->slots.emplace(parts_.context, mesh_.shard(), parts_.store, buckets,
                           reducer_options_.overlap);
    needed_at_once_.slots = &*shared_->slots;
}

template <class Ctx>
Reducer<Ctx>& DeviceEngine<Ctx>::reducer() noexcept {
    if (slot_reducer_) return *slot_reducer_;
    return *flat_reducer_;
}

template <class Ctx>
const Reducer<Ctx>& DeviceEngine<Ctx>::reducer() const noexcept {
    if (slot_reducer_) return *slot_reducer_;
    return *flat_reducer_;
}

template <class Ctx>
WeightSource& DeviceEngine<Ctx>::weights() {
    finish_weights();
    return needed_at_once_;
}

template <class Ctx>
void DeviceEngine<Ctx>::finish_weights() {
    if (!shared_) return;
    if (shared_->slots)
        shared_->slots->finish();
    else
        shared_->gather.finish();
}

template <class Ctx>
RunTensors DeviceEngine<Ctx>::copy_for_save() {
    finish_weights();
    optimizer_->check_readable();
    return shared_ ? shared_->tensors.copy() : tensors_.copy();
}

template <class Ctx>
void DeviceEngine<Ctx>::use_owned(OwnedAccess::Written what) {
    finish_weights();
    if (parts_.store.has_master()) write_owned_weights(parts_.context, parts_.store);
    shared_->weights_written = true;
    shared_->optimizer_written = what == OwnedAccess::Written::all;
}

template <class Ctx>
void DeviceEngine<Ctx>::share_weights() {
    finish_weights();
    if (shared_ && std::exchange(shared_->weights_written, false)) {
        gather_weights();
        return finish_weights();
    }
    if (parts_.store.gradient_placement().has_slots() && parts_.store.has_packed_master()) {
        using Whole = typename SharedTensors<Ctx>::Whole;
        shared_->tensors.spread_master(shared_->owned.makes_copies() ? Whole::dropped
                                                                     : Whole::kept);
        gather_weights();
        return finish_weights();
    }
    broadcast_weights(parts_.collectives, parts_.communicator, parts_.store);
    trace_sharing();
    write_compute_copy(parts_.context, parts_.store);
    if (parts_.store.has_packed_master())
        kernels::fill_zero(parts_.context, parts_.store.gradient());
}

template <class Ctx>
void DeviceEngine<Ctx>::share_optimizer() {
    if (shared_ && std::exchange(shared_->optimizer_written, false)) return;
    if (shared_) return shared_->tensors.spread_state();
    if (optimizer_->updated_by() == UpdatedBy::host) return share_state_of_host();
    for (const NamedTensor<Space>& tensor : optimizer_->state()) {
        parts_.collectives.broadcast(tensor.values, 0, "optimizer state");
        if (tensor.codes.empty()) continue;
        const comm::Range<Space> codes(tensor.codes.data(), tensor.codes.size(), Dtype::byte);
        parts_.collectives.broadcast(codes, 0, "optimizer state");
    }
    parts_.collectives.finish();
    trace_sharing();
}

template <class Ctx>
void DeviceEngine<Ctx>::share_state_of_host() {
    for (const NamedTensor<Space>& tensor : optimizer_->state())
        parts_.communicator.broadcast(device::in_host(tensor.values), 0, "optimizer state");
    parts_.communicator.finish();
}

// Takes the timings of the sharing's own finish(). On GPUs a step later takes those of the oldest
// finish() that is left, which must be its own.
template <class Ctx>
void DeviceEngine<Ctx>::trace_sharing() {
    for (comm::Timing& timing : parts_.collectives.take_timings())
        parts_.trace.add("communication", std::move(timing.label), timing.begin, timing.end);
}

// Each micro-batch is summed over the ranks by itself. All ranks make as many passes as the one
// with the most lanes.
template <class Ctx>
void DeviceEngine<Ctx>::accumulate_in_slots(const std::vector<Batch>& lanes, Spans& spans) {
    for (std::int64_t i = 0; i < passes_; ++i) {
        const bool first = i == 0, last = i + 1 == passes_;
        slot_reducer_->begin_pass(first && last ? Pass::only
                                  : first       ? Pass::first
                                  : last        ? Pass::last
                                                : Pass::middle);
        const auto lane = static_cast<std::size_t>(i);
        if (lane < lanes.size() && !lanes[lane].empty())
            train(lanes[lane], kernels::Into::overwrite, MoreFollow::no, spans);
        else
            pass_without_rows();
    }
}

// A GPU's kernels may take more scratch memory at the first batch of a shape. Memory must not be
// replaced while collectives run.
template <class Ctx>
void DeviceEngine<Ctx>::allow_in_flight(const UploadedShape& shape) {
    if constexpr (!std::is_same_v<Space, HostSpace>) {
        const bool is_new = seen_.insert(static_cast<const BatchShape&>(shape)).second;
        const InFlight in_flight = is_new ? InFlight::none : InFlight::allowed;
        if (slot_reducer_) slot_reducer_->allow(in_flight);
        if (shared_ && shared_->slots) shared_->slots->allow(in_flight);
    }
}

// Takes part in what the other ranks do in a pass, with gradients of zeros.
template <class Ctx>
void DeviceEngine<Ctx>::pass_without_rows() {
    const std::vector<Segment>& segments = parts_.store.gradient_placement().segments();
    shared_->slots ? shared_->slots->pass_forward() : finish_weights();
    weights_due_ = false;
    slot_reducer_->begin_backward();
    for (const auto& [first, count] : segments) {
        if (shared_->slots) shared_->slots->need(first);
        kernels::fill_zero(parts_.context, parts_.store.gradient(first, count));
        slot_reducer_->ready_until(first + count);
    }
}

// Brings the owned parts of a flat gradient together, in place.
template <class Ctx>
void DeviceEngine<Ctx>::gather_gradient() {
    comm::Collectives<Space>& group = mesh_.shard();
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto size = static_cast<std::size_t>(group.size());
    const View<float, Space> gradient = parts_.store.gradient();
    for (const auto& [first, count] : reducer().buckets())
        group.finish(group.all_gather(gradient.subview(first + rank * (count / size), count / size),
                                      gradient.subview(first, count), "directions"));
}

// Lets the ranks gather what each of them has updated.
template <class Ctx>
void DeviceEngine<Ctx>::gather_weights() {
    if (!shared_->slots) return shared_->gather.start();
    shared_->slots->forget();
    if (reducer_options_.overlap == Overlap::on) shared_->slots->ask_early();
}

// If ranks share a replica, each looks through what it owns.
template <class Ctx>
std::string DeviceEngine<Ctx>::nonfinite_gradient() {
    const device::Buffer<std::int64_t, Space> count(1);
    device::Readback<std::int64_t, Ctx> readback(parts_.context);
    const auto& all = parts_.model.parameters().all();
    std::uint64_t first_bad = 0;
    for (; first_bad < all.size(); ++first_bad) {
        const Parameter& parameter = all[first_bad];
        for (const OwnedPart& part : parts_.store.owned()) {
            const std::size_t first = std::max(parameter.offset, part.first);
            const std::size_t end =
                std::min(parameter.offset + parameter.count, part.first + part.count);
            if (first < end)
                kernels::add_count_nonfinite(
                    parts_.context,
                    parts_.store.gradient_sum(part).subview(first - part.first, end - first),
                    count.view());
        }
        readback.send(count.view().data());
        if (readback.take() > 0) break;
    }
    if (shared_) {
        parts_.communicator.all_reduce(View<std::uint64_t, HostSpace>(&first_bad, 1),
                                       comm::ReduceOp::min, "gradient that is not finite");
        parts_.communicator.finish();
    }
    return first_bad < all.size() ? all[first_bad].name : "";
}

}  // namespace lockstep::train
