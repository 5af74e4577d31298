// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "runtime/core/named_range.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"
#include "runtime/train/reduction/gradient_reducer_inl.hpp"
#include "runtime/train/reduction/lane_sums_inl.hpp"
#include "runtime/train/reduction/stage_sums_inl.hpp"
#include "runtime/train/reduction/tensor_sums_inl.hpp"
#include "runtime/train/reduction/tied_rows_inl.hpp"
#include "runtime/train/step/device_engine.hpp"
#include "runtime/train/step/engine_groups_inl.hpp"
#include "runtime/train/step/engine_sharing_inl.hpp"
#include "runtime/train/step/engine_sinks.hpp"
#include "runtime/train/step/engine_stages_inl.hpp"

namespace lockstep::train {

// Chooses how products run after a bucket was sent. With a small micro-batch, collectives run most
// of the time; with a large one they seldom do, and products that leave room for them lose more
// than those that wait (docs/cuda.md). The result depends only on the shape, so that a run can be
// repeated bit for bit.
inline kernels::Company company_of(const UploadedShape& shape) {
    constexpr std::int64_t max_tokens = 16'384;
    return shape.source_total + shape.target_total <= max_tokens ? kernels::Company::collectives
                                                                 : kernels::Company::none;
}

// The kinds of work that repeat in every step; a key's first number.
enum class StepWork : std::int64_t { micro_batch, update };

// Names the work of a micro-batch. `how` says in which ways it differs for one shape.
inline device::WorkKey micro_batch_key(const UploadedShape& shape,
                                       std::initializer_list<std::int64_t> how) {
    device::WorkKey key{static_cast<std::int64_t>(StepWork::micro_batch),
                        shape.source_total,
                        shape.target_total,
                        shape.sequences,
                        shape.longest_source,
                        shape.longest_target,
                        static_cast<std::int64_t>(shape.labels)};
    key.insert(key.end(), how);
    return key;
}

inline comm::MeshShape mesh_shape(int ranks, const ParameterTable& table) {
    return {ranks / table.sharing(), table.sharing()};
}

template <class Ctx>
DeviceEngine<Ctx>::DeviceEngine(const TrainOptions& options, const EngineParts<Ctx>& parts)
    : parts_(parts),
      mesh_(mesh_shape(parts.communicator.size(), parts.store.table()), parts.collectives),
      rules_(step_rules(options)),
      optimizer_(make_optimizer<Ctx>(options.optimizer, parts.model.parameters(), parts.store,
                                     parts.context)),
      tensors_(parts.context, parts.model.parameters(), parts.store, *optimizer_),
      reducer_options_(with_table_sum<Ctx>(options.reducer, parts.model.parameters(),
                                           parts.communicator.size())),
      replay_(parts.context),
      step_(1),
      results_(parts.context) {
    if (parts_.progress != nullptr)
        optimizer_->begin_threads_with(
            [progress = parts_.progress] { progress->count_this_thread(); });
    if (parts_.communicator.size() > 1) hash_.emplace(parts_.context);
    parts_.collectives.register_memory(parts_.store.gradient());
    if (parts_.store.gradient_placement().has_slots())
        slot_reducer_.emplace(parts_.context, mesh_, parts_.trace, parts_.store, reducer_options_);
    else
        flat_reducer_.emplace(
            parts_.context, parts_.collectives, parts_.trace, parts_.store.gradient(),
            plan_buckets(parts_.model.parameters(), reducer_options_), reducer_options_);
    if (!parts_.store.owns_all()) share_replica();
    if (parts_.tensor.collectives != nullptr)
        tensor_sums_.emplace(parts_.context, parts_.tensor, parts_.store);
    if (parts_.passes != nullptr) stage_sums_.emplace(parts_.context, parts_.stages, parts_.store);
    if (reducer_options_.table_sum == TableSum::in_parts)
        tied_.emplace(parts_.context, parts_.communicator, *tied_table(parts_.model.parameters()));
    // On the CPU the collectives are the communicator, which the watchdog already observes, unless
    // there are groups.
    const bool observed = std::is_same_v<Space, HostSpace> && model_groups().empty() &&
                          (mesh_.shape.replica == 1 || mesh_.shape.shard == 1);
    if (parts_.progress != nullptr && !observed)
        parts_.progress->watch_device([this] { return activity(); });
}

template <class Ctx>
DeviceEngine<Ctx>::~DeviceEngine() {
    if (parts_.progress != nullptr) parts_.progress->watch_device({});
    if (std::uncaught_exceptions() > unwinding_) {
        mesh_.give_up();
        return;
    }
    try {
        finish_weights();  // they arrive in memory that may be freed now
        parts_.context.synchronize();
    } catch (const Error&) {
        // The communicator has failed, and writes no more.
    }
}

template <class Ctx>
void DeviceEngine<Ctx>::hash_weights() {
    if (!hash_) return;
    finish_weights();
    hash_->queue(parts_.store);
}

template <class Ctx>
void DeviceEngine<Ctx>::check_weights_alike(std::int64_t updates) {
    if (hash_) require_alike(parts_.communicator, hash_->take(), updates);
}

template <class Ctx>
void DeviceEngine<Ctx>::restore(const kernels::Step& before, std::int64_t lanes) {
    if (reducer_options_.lane_order == LaneOrder::fixed) {
        lane_sums_.emplace(parts_.context, parts_.communicator, parts_.store.gradient(), lanes,
                           largest(reducer().buckets()));
        require(flat_reducer_.has_value(), "gradients in slots have no fixed order of the lanes");
        flat_reducer_->add_by(*lane_sums_);
    }
    passes_ =
        std::max<std::int64_t>(1, lanes_of_rank(lanes, 0, parts_.communicator.size()).count());
    device::copy(parts_.context, HostView<const kernels::Step>(&before, 1), step_.view());
    parts_.context.synchronize();
}

template <class Ctx>
void DeviceEngine<Ctx>::queue(const kernels::StepOrder& order, const std::vector<Batch>& lanes) {
    kernels::Step* const step = step_.view().data();
    StepResult between_steps;  // evaluations and checkpoints exchange, too
    (void)take_exchanges(between_steps);
    Spans spans;
    begin_step(parts_.context, order, step);
    weights_due_ = shared_.has_value();
    accumulate(lanes, spans);
    // The sums of the losses are sent after the buckets and waited for with them.
    parts_.collectives.all_reduce(loss_sums(), comm::ReduceOp::sum, "losses");
    reduce();
    if (lane_sums_) lane_sums_->give_losses(step);
    update(spans);
    results_.send(step);
    spans.model = parts_.model.take_spans();
    spans_.push_back(std::move(spans));
}

template <class Ctx>
auto DeviceEngine<Ctx>::loss_sums() -> View<double, Space> {
    if (lane_sums_) return lane_sums_->losses();
    return {&step_.view().data()->sums.losses.loss, kernels::StepSums::count};
}

template <class Ctx>
BucketOrder DeviceEngine<Ctx>::bucket_order() const noexcept {
    return tied_ ? tied_->order() : BucketOrder::front_to_back;
}

template <class Ctx>
void DeviceEngine<Ctx>::accumulate(const std::vector<Batch>& lanes, Spans& spans) {
    if (parts_.passes != nullptr) return accumulate_by_turns(lanes, spans);
    if (lane_sums_) return accumulate_one_by_one(lanes, spans);
    if (slot_reducer_) return accumulate_in_slots(lanes, spans);
    const auto last = std::find_if(lanes.rbegin(), lanes.rend(),
                                   [](const Batch& batch) { return !batch.empty(); });
    const Batch* const last_batch = last == lanes.rend() ? nullptr : &*last;
    if (tied_) tied_->name(last_batch);
    if (last_batch == nullptr) add_nothing();
    kernels::Into into = kernels::Into::overwrite;
    for (const Batch& batch : lanes) {
        if (batch.empty()) continue;
        train(batch, into, &batch == last_batch ? MoreFollow::no : MoreFollow::yes, spans);
        into = kernels::Into::add;
    }
    flat_reducer_->all_ready();
    if (bucket_order() == BucketOrder::last_one_first && !tied_->named().empty())
        flat_reducer_->send_rest_of_last_bucket(tied_->named());
}

// A lane without rows has a gradient of zeros, on whichever rank it is.
template <class Ctx>
void DeviceEngine<Ctx>::accumulate_one_by_one(const std::vector<Batch>& lanes, Spans& spans) {
    lane_sums_->begin_step();
    for (const Batch& batch : lanes) {
        const bool last = &batch == &lanes.back();
        if (batch.empty())
            kernels::fill_zero(parts_.context, parts_.store.gradient());
        else
            train(batch, kernels::Into::overwrite, last ? MoreFollow::no : MoreFollow::yes, spans);
        lane_sums_->take_losses(step_.view().data());
        if (!last) lane_sums_->keep_gradient();
    }
    flat_reducer_->all_ready();
}

// A rank without a micro-batch still contributes zeros to the other ranks' sums.
template <class Ctx>
void DeviceEngine<Ctx>::add_nothing() {
    kernels::fill_zero(parts_.context, parts_.store.gradient());
    if (tied_) tied_->agree();
    if (bucket_order() == BucketOrder::last_one_first) flat_reducer_->send_last_bucket();
}

template <class Ctx>
void DeviceEngine<Ctx>::train(const Batch& batch, kernels::Into into, MoreFollow more_follow,
                              Spans& spans) {
    kernels::Step* const step = step_.view().data();
    NoSink nothing_final;
    const NamedRange range("micro-batch");
    const UploadedShape shape = [&] {
        const NamedRange upload_range("upload");
        return parts_.model.upload(batch);
    }();
    if (slot_reducer_) allow_in_flight(shape);
    const bool reduces = more_follow == MoreFollow::no && parts_.collectives.size() > 1;
    if (reduces && tied_) tied_->agree();
    const bool in_parts = reduces && bucket_order() == BucketOrder::last_one_first;
    BucketSink<Ctx> buckets(parts_.context, reducer(), replay_, company_of(shape));
    if (in_parts) buckets.send_table_early(*flat_reducer_, tied_->rows());
    GradientSink& sink = more_follow == MoreFollow::no ? static_cast<GradientSink&>(buckets)
                                                       : static_cast<GradientSink&>(nothing_final);
    const bool needs = std::exchange(weights_due_, false);
    std::optional<GatheringSink<Ctx>> gathering;
    std::optional<SlotSink<Ctx>> in_slots;
    const Waiting<Ctx> waiting{parts_.context, reducer(), replay_};
    if (shared_ && shared_->slots)
        in_slots.emplace(sink, *shared_->slots, waiting);
    else if (needs)
        gathering.emplace(sink, shared_->gather, waiting);
    GradientSink& told = in_slots ? static_cast<GradientSink&>(*in_slots)
                         : needs  ? static_cast<GradientSink&>(*gathering)
                                  : sink;
    const std::int64_t moves = shape.moves + (tied_ ? tied_->moves() : 0);
    device::Stopwatch<Ctx> watch(parts_.context);
    const device::WorkKey key = micro_batch_key(
        shape, {needs ? 1 : 0, reduces ? 1 : 0, in_parts ? 1 : 0, static_cast<std::int64_t>(into)});
    const device::Queued queued = replay_.run(key, moves, [&] {
        parts_.model.train(&step->state, &step->batch, into, told);
        end_micro_batch(parts_.context, step);
    });
    kernels::plan_products_for(parts_.context, kernels::Company::none);
    spans.lanes.push_back(watch.lap());
    if (queued == device::Queued::at_once) spans.replayed.push_back(spans.lanes.back());
}

template <class Ctx>
void DeviceEngine<Ctx>::reduce() {
    const NamedRange range("reduction");
    reducer().finish();
}

// The gradient's norm, the decisions that depend on it, and the update are one piece of work, so
// that a GPU runs one graph for them. No graph can hold what the host updates.
template <class Ctx>
void DeviceEngine<Ctx>::update(Spans& spans) {
    const NamedRange range("update");
    const comm::PhaseScope phase(parts_.progress, comm::Phase::optimizer);
    device::Stopwatch<Ctx> watch(parts_.context);
    const BucketOrder order = bucket_order();
    const device::WorkKey key{static_cast<std::int64_t>(StepWork::update),
                              static_cast<std::int64_t>(order)};
    replay_.run(key, tied_ ? tied_->moves() : 0, [&] {
        kernels::Step* const step = step_.view().data();
        if (flat_reducer_) flat_reducer_->widen();
        if (order == BucketOrder::last_one_first) tied_->add_to(parts_.store.gradient());
        if (tensor_sums_ || stage_sums_)
            replay_.apart([this, step] { add_over_model(step); });
        else
            reducer().add_square({&step->squares, 1});
        if (shared_)
            replay_.apart([this, step] { reducer().add_squares_of_parts({&step->squares, 1}); });
        finish_step(parts_.context, rules_, step);
        if (optimizer_->updated_by() == UpdatedBy::host) return;
        optimizer_->prepare(&step->state);
        if (shared_ && optimizer_->reads() == Reads::all)
            replay_.apart([this] { gather_gradient(); });
        optimizer_->update(&step->state);
    });
    if (optimizer_->updated_by() == UpdatedBy::host) {
        // The watchdog then reports the host's wait as waiting for other ranks.
        reduction_ = reducer().take_reduction();
        optimizer_->update(&step_.view().data()->state);
    }
    spans.optimizer = watch.lap();
    if (!shared_) return;
    gather_weights();
    if (reducer_options_.overlap == Overlap::on) return;
    device::Stopwatch<Ctx> waiting(parts_.context);
    finish_weights();
    reducer().waited_for_weights(waiting.lap());  // counts in the next step, as with overlap
}

template <class Ctx>
StepResult DeviceEngine<Ctx>::take_result() {
    // Take the reduction first: the watchdog then reports this wait as waiting for other ranks.
    ReductionTiming reduction =
        reduction_ ? *std::exchange(reduction_, std::nullopt) : reducer().take_reduction();
    StepResult result{results_.take(), std::move(reduction), {}, {}, {}, {}, {}};
    const Spans spans = std::move(spans_.front());
    spans_.pop_front();
    for (const device::Span& lane : spans.lanes) trace("forward and backward", lane);
    const std::vector<Wait> exchanges = count_exchanges(result);
    split(spans, result);
    if (result.step.outcome == kernels::StepOutcome::updated) {
        result.optimizer_s = seconds_of({spans.optimizer}, exchanges);
        trace("optimizer", spans.optimizer);
    }
    return result;
}

template <class Ctx>
WeightMemory DeviceEngine<Ctx>::memory() const {
    const ParameterStore<Space>& store = parts_.store;
    const std::size_t master = store.master().size() * sizeof(float);
    const OptimizerBytes optimizer = optimizer_->bytes();
    WeightMemory memory;
    // What is stored counts in the optimizer's bytes of the file.
    if (!store.has_stored_master())
        (store.has_offloaded_master() ? memory.pinned : memory.master) = master;
    memory.compute = store.compute_bytes();
    memory.gradient = (store.gradient().size() + store.gradient_sums().size()) * sizeof(float);
    memory.optimizer = optimizer.device;
    memory.pinned += optimizer.pinned;
    memory.disk = optimizer.disk;
    memory.narrowing = reducer().narrowing_bytes();
    if (tensor_sums_) memory.tensor_sums = tensor_sums_->bytes();
    if (tied_) memory.tied_rows = tied_->bytes();
    if (lane_sums_) memory.lane_sums = lane_sums_->bytes();
    return memory;
}

// Replayed micro-batches have one span each. Their time is divided between forward and backward in
// the same ratio as in the micro-batches that were queued call by call.
template <class Ctx>
void DeviceEngine<Ctx>::split(const Spans& spans, StepResult& result) {
    const std::vector<Wait>& waits = result.reduction.waits;
    result.forward_s = seconds_of(spans.model.forward, waits);
    result.backward_s = seconds_of(spans.model.backward, waits);
    const double measured = result.forward_s + result.backward_s;
    if (measured > 0) forward_share_ = result.forward_s / measured;
    const double replayed = seconds_of(spans.replayed, waits);
    result.forward_s += forward_share_ * replayed;
    result.backward_s += (1 - forward_share_) * replayed;
}

template <class Ctx>
double DeviceEngine<Ctx>::seconds_of(const std::vector<device::Span>& spans,
                                     const std::vector<Wait>& waits) const {
    double seconds = 0;
    for (const device::Span& span : spans) {
        if (!span.known()) continue;
        const auto begin = parts_.context.time_of(span.begin);
        const auto end = parts_.context.time_of(span.end);
        seconds += seconds_between(begin, end) - seconds_within(waits, begin, end);
    }
    return seconds;
}

template <class Ctx>
void DeviceEngine<Ctx>::trace(const char* name, device::Span span) const {
    if (!parts_.trace.on()) return;
    parts_.trace.add("step", name, parts_.context.time_of(span.begin),
                     parts_.context.time_of(span.end));
}

}  // namespace lockstep::train
