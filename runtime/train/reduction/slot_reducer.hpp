// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/comm/mesh.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/reduction/narrow_gradients.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/reduction_clock.hpp"

namespace lockstep::train {

// Tells what a pass, which is one backward or takes one's place, adds to the sums of a step.
enum class Pass { only, first, middle, last };

// Sums gradients that lie in slots (stages 2 and 3): each pass sums its buckets over the ranks of a
// replica and adds what this rank owns to the store's gradient_sums(). All ranks make the same
// passes. Errors are those of comm::Collectives. Usage, in each step:
//
//     for (each pass) {
//         reducer.begin_pass(pass);
//         reducer.begin_backward();   // before the first gradient is written
//         reducer.ready_until(end);   // from the end of a segment to that of the next
//     }
//     reducer.finish();
//     reducer.add_square(squares);
template <class Ctx>
class SlotReducer final : public Reducer<Ctx> {
public:
    using Space = typename Ctx::Space;

    // The references must outlive the reducer.
    SlotReducer(Ctx& context, const comm::Mesh<Space>& mesh, Trace& trace,
                const ParameterStore<Space>& store, const ReducerOptions& options);

    void begin_pass(Pass pass);
    void allow(InFlight in_flight);
    void begin_backward() override;
    bool waits_before_backward() const noexcept override { return true; }
    void ready_until(std::size_t end) override;
    bool starts_reduction(std::size_t end) const override;
    void finish() override;
    void add_square(View<kernels::ExactSum, Space> squares) override;
    void add_squares_of_parts(View<kernels::ExactSum, Space> squares) override;
    void waited_for_weights(device::Span span) override { clock_.waited(span, WaitFor::weights); }
    ReductionTiming take_reduction() override { return clock_.take(groups_); }
    const std::vector<Bucket>& buckets() const noexcept override { return buckets_; }
    std::size_t narrowing_bytes() const noexcept override { return narrow_.bytes(); }

private:
    std::size_t end_of(std::size_t bucket) const {
        return buckets_[bucket].first + buckets_[bucket].count;
    }
    void send(std::size_t bucket);
    // Adds the buckets that were sent and end at `end` or before it to the sums.
    void collect_until(std::size_t end);
    void collect(std::size_t bucket);
    void clear_gaps();
    View<float, Space> part(std::size_t bucket) const {
        return store_.gradient(buckets_[bucket].first, buckets_[bucket].count);
    }

    Ctx& context_;
    const comm::Mesh<Space>& mesh_;
    const ParameterStore<Space>& store_;
    const std::vector<Bucket> buckets_;
    const Overlap overlap_;
    std::vector<TimedGroup<Space>> groups_;  // all that are used, each once
    NarrowGradients<Ctx> narrow_;            // unused unless gradients travel as bf16
    std::vector<Segment> gaps_;              // between parameters, of packed elements
    Pass pass_ = Pass::only;
    InFlight in_flight_ = InFlight::allowed;
    std::size_t final_ = 0;              // elements of the flat gradient, in this pass
    std::size_t sent_ = 0;               // buckets of this pass
    std::size_t collected_ = 0;          // of the buckets that were sent
    std::vector<comm::Ticket> tickets_;  // of the buckets that were sent
    ReductionClock<Ctx> clock_;
};

}  // namespace lockstep::train
