// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "runtime/core/trace.hpp"

namespace lockstep::train {

// Returns how much of the buckets' durations was hidden behind backward: 1 - blocked / buckets, in
// 0..1; empty if there is nothing to hide.
std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept;

// A time in which the device did nothing but wait for other ranks.
struct Wait {
    Clock::time_point begin, end;
};

// Returns how long the waits last between these times.
double seconds_within(const std::vector<Wait>& waits, Clock::time_point begin,
                      Clock::time_point end) noexcept;

// Tells how long collectives of one kind took, and how long the device waited for them.
struct Travel {
    double seconds = 0, blocked_s = 0;

    std::optional<double> hidden_share() const noexcept {
        return train::hidden_share(blocked_s, seconds);
    }
};

// Holds how long the reduction of one step's gradient took, and the gathers of weights that other
// ranks own.
struct ReductionTiming {
    double blocked_s = 0;         // waiting for all collectives of the step
    double bucket_blocked_s = 0;  // waiting until the last bucket was reduced or gathered
    double bucket_s = 0;          // sum of the buckets' durations; 0 with one rank
    double last_bucket_s = 0;     // of bucket_s: the last bucket, or what of it was sent at the end
    Travel weights;               // of bucket_s and bucket_blocked_s: the gathers
    Travel gradients;             // of bucket_s: sums among the ranks that share a replica
    Travel replicas;              // of bucket_s: sums between replicas

    std::vector<Wait> waits;  // those of blocked_s

    std::optional<double> hidden_share() const noexcept {
        return train::hidden_share(bucket_blocked_s, bucket_s);
    }
};

}  // namespace lockstep::train
