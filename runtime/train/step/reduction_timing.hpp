// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace lockstep::train {

// How much of the buckets' durations was hidden behind backward: 1 - blocked / buckets, in 0..1;
// empty where there is nothing to hide.
std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept;

// How long the reduction of one step's gradient took.
struct ReductionTiming {
    double blocked_s = 0;         // waiting for it, also for what is no bucket
    double bucket_blocked_s = 0;  // waiting until the last bucket was reduced
    double bucket_s = 0;          // sum of the buckets' durations; 0 of one rank
    double last_bucket_s = 0;     // of that, what was sent last of the tied table, if any

    std::optional<double> hidden_share() const noexcept {
        return train::hidden_share(bucket_blocked_s, bucket_s);
    }
};

}  // namespace lockstep::train
