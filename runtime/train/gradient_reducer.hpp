// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/buckets.hpp"
#include "runtime/train/model.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

// How much of the buckets' durations was hidden behind backward: 1 - blocked / buckets, in 0..1;
// empty where there is nothing to hide.
std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept;

// What one step's reduction took and gave.
struct Reduction {
    double sum_of_squares = 0;    // of the reduced gradient; not finite where an element is not
    double blocked_s = 0;         // waiting in finish(), also for what is no bucket
    double bucket_blocked_s = 0;  // waiting in finish() until the last bucket was reduced
    double bucket_s = 0;          // sum of the buckets' durations; 0 of one rank
    double last_bucket_s = 0;     // of that, the last bucket: the tied table, if any

    std::optional<double> hidden_share() const noexcept {
        return train::hidden_share(bucket_blocked_s, bucket_s);
    }
};

// Sums the gradient buffer over all ranks, in place, bucket by bucket, while backward still
// produces the rest. Every step: ready() until the whole buffer is final, then finish().
// Nothing is divided here.
class GradientReducer final : public GradientSink {
public:
    // What is passed by reference, and the gradient, outlive the reducer.
    GradientReducer(device::CpuContext& context, comm::Communicator& communicator, Trace& trace,
                    HostView<float> gradient, std::vector<Bucket> buckets,
                    const ReducerOptions& options);

    void ready(std::size_t first, std::size_t count) override;
    // Waits for every bucket and for whatever else was queued on the communicator meanwhile.
    Reduction finish();

    const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

private:
    void hand_over(std::size_t bucket);
    void take_timings(Reduction& reduction, Clock::time_point begin);
    double unpack_and_square();

    device::CpuContext& context_;
    comm::Communicator& communicator_;
    Trace& trace_;
    HostView<float> gradient_;
    std::vector<Bucket> buckets_;
    std::vector<std::string> labels_;
    Overlap overlap_;
    device::Buffer<bf16, HostSpace> compressed_;  // empty unless gradients travel as bf16
    std::size_t final_ = 0;                       // elements that are final
    std::size_t handed_over_ = 0;                 // buckets
};

}  // namespace lockstep::train
