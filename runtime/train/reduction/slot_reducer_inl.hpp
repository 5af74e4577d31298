// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/core/named_range.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/slot_reducer.hpp"

namespace lockstep::train {

template <class Ctx>
SlotReducer<Ctx>::SlotReducer(Ctx& context, const comm::Mesh<Space>& mesh, Trace& trace,
                              const ParameterStore<Space>& store, const ReducerOptions& options)
    : context_(context),
      mesh_(mesh),
      store_(store),
      buckets_(plan_buckets(store.table(), options)),
      overlap_(options.overlap),
      groups_(timed_groups(mesh)),
      narrow_(context, options.comm_dtype == Dtype::bf16 ? largest(buckets_) : 0),
      gaps_(packed_gaps(store.table(), store.owned())),
      tickets_(buckets_.size()),
      clock_(context, trace, buckets_.size()) {
    require(store.owned().size() == buckets_.size(), "each bucket has an owned part");
    kernels::reserve_sums(context_, store.packed_size());
}

template <class Ctx>
void SlotReducer<Ctx>::begin_pass(Pass pass) {
    require(sent_ == 0 || final_ == store_.table().flat_size(),
            "a pass begins before the last one has ended");
    begin_backward();
    pass_ = pass;
}

template <class Ctx>
void SlotReducer<Ctx>::allow(InFlight in_flight) {
    in_flight_ = in_flight;
    if (in_flight_ == InFlight::none && sent_ > 0) mesh_.shard().finish(tickets_[sent_ - 1]);
}

template <class Ctx>
void SlotReducer<Ctx>::begin_backward() {
    collect_until(final_);
    if (final_ == store_.table().flat_size()) final_ = sent_ = collected_ = 0;
}

template <class Ctx>
void SlotReducer<Ctx>::ready_until(std::size_t end) {
    require(end > final_ && end <= store_.table().flat_size(),
            "gradients must become final front to back");
    const std::size_t before = final_;
    final_ = end;
    while (sent_ < buckets_.size() && end_of(sent_) <= final_) send(sent_++);
    if (in_flight_ == InFlight::none) mesh_.shard().finish(tickets_[sent_ - 1]);
    // Backward goes on in the slot of the segment before this one.
    collect_until(overlap_ == Overlap::on ? before : final_);
}

template <class Ctx>
bool SlotReducer<Ctx>::starts_reduction(std::size_t end) const {
    return sent_ < buckets_.size() && end_of(sent_) <= end;
}

template <class Ctx>
void SlotReducer<Ctx>::send(std::size_t bucket) {
    const std::string& label = clock_.label(bucket);
    const NamedRange range(label.c_str());
    comm::Range<Space> sent = part(bucket);
    if (narrow_.used()) {
        narrow_.narrow(part(bucket));
        sent = narrow_.narrowed(part(bucket));
    }
    tickets_[bucket] = mesh_.shard().reduce_scatter(sent, comm::ReduceOp::sum, label);
}

template <class Ctx>
void SlotReducer<Ctx>::collect_until(std::size_t end) {
    std::size_t last = collected_;
    while (last < sent_ && end_of(last) <= end) ++last;
    if (last == collected_) return;
    device::Stopwatch<Ctx> watch(context_);
    mesh_.shard().finish(tickets_[last - 1]);
    clock_.waited(watch.lap());
    while (collected_ < last) collect(collected_++);
}

// Replicas have the same parts, so only the sums of all passes go from one to the other.
template <class Ctx>
void SlotReducer<Ctx>::collect(std::size_t bucket) {
    const OwnedPart& own = store_.owned()[bucket];
    const View<float, Space> arrived = store_.gradient(own.first, own.count);
    const View<float, Space> sums = store_.gradient_sum(own);
    if (narrow_.used()) narrow_.widen(part(bucket), own.first - buckets_[bucket].first, own.count);
    if (pass_ == Pass::only || pass_ == Pass::first) {
        kernels::cast<float, float>(context_, arrived, sums);
    } else {
        const auto rows = static_cast<std::int64_t>(own.count / grain);
        const auto columns = static_cast<std::int64_t>(grain);
        kernels::add<float>(context_, MatrixView<const float, Space>{arrived.data(), rows, columns},
                            MatrixView<float, Space>{sums.data(), rows, columns});
    }
    const bool complete = pass_ == Pass::only || pass_ == Pass::last;
    if (complete && mesh_.replica().size() > 1)
        mesh_.replica().all_reduce(sums, comm::ReduceOp::sum, clock_.label(bucket));
}

template <class Ctx>
void SlotReducer<Ctx>::finish() {
    require(final_ == store_.table().flat_size(), "finish() before the whole gradient is final");
    begin_backward();
    device::Stopwatch<Ctx> watch(context_);
    for (const TimedGroup<Space>& group : groups_) group.collectives->finish();
    clock_.waited(watch.lap());
    clock_.end_step();
    clear_gaps();
}

// A slot's gaps hold what was written there for another segment.
template <class Ctx>
void SlotReducer<Ctx>::clear_gaps() {
    for (const Segment& gap : gaps_)
        kernels::fill_zero(context_, store_.gradient_sums().subview(gap.first, gap.count));
}

template <class Ctx>
void SlotReducer<Ctx>::add_square(View<kernels::ExactSum, Space> squares) {
    for (const OwnedPart& own : store_.owned())
        kernels::add_sum_of_squares(context_, store_.gradient_sum(own), squares);
}

template <class Ctx>
void SlotReducer<Ctx>::add_squares_of_parts(View<kernels::ExactSum, Space> squares) {
    add_squares_among(mesh_.shard(), squares);
}

}  // namespace lockstep::train
