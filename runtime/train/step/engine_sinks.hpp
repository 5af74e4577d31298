// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/error.hpp"
#include "runtime/device/replay.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/reduction/gradient_reducer.hpp"
#include "runtime/train/sharing/slot_weights.hpp"
#include "runtime/train/sharing/weight_gather.hpp"

namespace lockstep::train {

// Sends a bucket when its gradients are final. The collectives are queued outside of backward's own
// work, because that may be replayed.
template <class Ctx>
class BucketSink final : public GradientSink {
public:
    BucketSink(Ctx& context, Reducer<Ctx>& reducer, device::Replay<Ctx>& replay,
               kernels::Company company)
        : context_(context), reducer_(reducer), replay_(replay), company_(company) {}

    // Lets the tied table's bucket go before the input's part is added, which goes to these rows.
    void send_table_early(GradientReducer<Ctx>& table, const InputRows& rows) {
        table_ = &table;
        rows_ = rows;
    }
    void begin_backward() override {
        if (!reducer_.waits_before_backward()) return;
        replay_.apart([&reducer = reducer_] { reducer.begin_backward(); });
    }
    InputRows loss_done() override {
        if (table_ == nullptr) return {};
        replay_.apart([table = table_] { table->send_last_bucket(); });
        kernels::plan_products_for(context_, company_);
        return rows_;
    }
    void ready(std::size_t first, std::size_t count) override {
        require(first == told_, "gradients must become final front to back, without gaps");
        const std::size_t end = told_ = first + count;
        if (!reducer_.starts_reduction(end)) return;
        replay_.apart([&reducer = reducer_, end] { reducer.ready_until(end); });
        kernels::plan_products_for(context_, company_);
    }
    bool waits_for(std::size_t end) const override { return reducer_.starts_reduction(end); }

private:
    Ctx& context_;
    Reducer<Ctx>& reducer_;
    device::Replay<Ctx>& replay_;
    kernels::Company company_;  // for products that run after a bucket was sent
    GradientReducer<Ctx>* table_ = nullptr;
    InputRows rows_;
    std::size_t told_ = 0;
};

// Queues waits for weights outside of the work that may be replayed, and measures them.
template <class Ctx>
struct Waiting {
    Ctx& context;
    Reducer<Ctx>& reducer;
    device::Replay<Ctx>& replay;

    template <class Wait>
    void apart(const Wait& wait) const {
        replay.apart([&ctx = context, &clock = reducer, wait] {
            device::Stopwatch<Ctx> watch(ctx);
            wait();
            clock.waited_for_weights(watch.lap());
        });
    }
};

// Passes on what the model tells another sink.
class SinkBefore : public GradientSink {
public:
    explicit SinkBefore(GradientSink& gradients) : gradients_(gradients) {}

    void begin_backward() override { gradients_.begin_backward(); }
    InputRows loss_done() override { return gradients_.loss_done(); }
    void ready(std::size_t first, std::size_t count) override { gradients_.ready(first, count); }
    bool waits_for(std::size_t end) const override { return gradients_.waits_for(end); }

private:
    GradientSink& gradients_;
};

// Waits for the weights of a block before forward reads them.
template <class Ctx>
class GatheringSink final : public SinkBefore {
public:
    GatheringSink(GradientSink& gradients, WeightGather<Ctx>& gather, const Waiting<Ctx>& waiting)
        : SinkBefore(gradients),
          gather_(gather),
          waiting_(waiting),
          reached_(waiting.reducer.buckets().size()) {}

    void need(std::size_t first) override {
        const std::size_t bucket = gather_.bucket_of(first);
        if (bucket >= reached_) return;
        reached_ = bucket;
        waiting_.apart([&gather = gather_, bucket] { gather.finish(bucket); });
    }

private:
    WeightGather<Ctx>& gather_;
    Waiting<Ctx> waiting_;
    std::size_t reached_;  // the lowest bucket that was waited for
};

// Brings the weights of a block to their slot before forward or backward reads them.
template <class Ctx>
class SlotSink final : public SinkBefore {
public:
    SlotSink(GradientSink& gradients, SlotWeights<Ctx>& weights, const Waiting<Ctx>& waiting)
        : SinkBefore(gradients), weights_(weights), waiting_(waiting) {}

    void need(std::size_t first) override {
        waiting_.apart([&weights = weights_, first] { weights.need(first); });
    }

private:
    SlotWeights<Ctx>& weights_;
    Waiting<Ctx> waiting_;
};

}  // namespace lockstep::train
