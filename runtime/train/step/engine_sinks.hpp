// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/error.hpp"
#include "runtime/device/replay.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/train/step/forward_backward.hpp"
#include "runtime/train/step/gradient_reducer.hpp"
#include "runtime/train/step/weight_gather.hpp"

namespace lockstep::train {

// Sends a bucket when its gradients are final. The collectives are queued outside of backward's own
// work, because that may be replayed.
template <class Ctx>
class BucketSink final : public GradientSink {
public:
    // `rows` is not empty if the tied table's bucket does not wait for the input's part.
    BucketSink(Ctx& context, GradientReducer<Ctx>& reducer, device::Replay<Ctx>& replay,
               kernels::Company company, const InputRows& rows)
        : context_(context), reducer_(reducer), replay_(replay), company_(company), rows_(rows) {}

    InputRows loss_done() override {
        if (rows_.sums == nullptr) return {};
        replay_.apart([&reducer = reducer_] { reducer.send_last_bucket(); });
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
    GradientReducer<Ctx>& reducer_;
    device::Replay<Ctx>& replay_;
    kernels::Company company_;  // for products that run after a bucket was sent
    InputRows rows_;
    std::size_t told_ = 0;
};

// Waits for the weights of a block before forward reads them. The waits are queued outside of the
// work that may be replayed.
template <class Ctx>
class GatheringSink final : public GradientSink {
public:
    GatheringSink(GradientSink& gradients, WeightGather<Ctx>& gather, device::Replay<Ctx>& replay,
                  std::size_t buckets)
        : gradients_(gradients), gather_(gather), replay_(replay), reached_(buckets) {}

    void need(std::size_t first) override {
        const std::size_t bucket = gather_.bucket_of(first);
        if (bucket >= reached_) return;
        reached_ = bucket;
        replay_.apart([&gather = gather_, bucket] { gather.finish(bucket); });
    }
    InputRows loss_done() override { return gradients_.loss_done(); }
    void ready(std::size_t first, std::size_t count) override { gradients_.ready(first, count); }
    bool waits_for(std::size_t end) const override { return gradients_.waits_for(end); }

private:
    GradientSink& gradients_;
    WeightGather<Ctx>& gather_;
    device::Replay<Ctx>& replay_;
    std::size_t reached_;  // the lowest bucket that was waited for
};

}  // namespace lockstep::train
