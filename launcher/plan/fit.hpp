// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/recompute.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher::plan {

// Says what a run does to take less memory.
struct Savings {
    train::Moments moments = train::Moments::fp32;
    model::RecomputePlan recompute;
    train::Saving saving = train::Saving::beside_training;
    int stage = 0;                                  // of ZeroOptions
    train::Offload offload = train::Offload::none;  // optimizer: only of moments in fp32

    bool operator==(const Savings&) const = default;
};

// Holds what --fit auto chooses from.
struct FitChoices {
    std::vector<train::Moments> moments;
    std::optional<model::RecomputePlan> recompute;  // empty: any
    std::int64_t layers = 1;                        // of the model's largest stack
    std::vector<train::Saving> saving = {train::Saving::beside_training};
    std::vector<int> stages = {0};
    std::vector<train::Offload> offload = {train::Offload::none};
    // Returns the products that are calculated again, divided by those of a step that calculates
    // nothing again.
    std::function<double(const model::RecomputePlan&)> calculated_again = {};
};

// Names the options that were to choose from, with their values: "--moments fp32 or int8". It is
// "no other option" if all are given.
std::string name(const FitChoices& choices);

// Returns the time that the savings add to a step, as a share of its time without them. What is
// calculated again counts as its share of the products. Moments in int8 count as 0.03, which is an
// estimate for a step of about 1,000 tokens, and training that waits for saves as 0.01, one for
// a save of 20 s every 30 minutes. The stages 1, 2 and 3 count as 0.005, 0.02 and 0.1, so that what
// needs no other rank comes first where it costs as little. --offload optimizer counts as 0.5, more
// than all others together: it depends on the host and its bus, and is the last resort.
double added_time(const Savings& savings, const FitChoices& choices);

// Returns the fastest of the choices with which the run takes at most `room` bytes; if there is
// none, the one that takes the least. More layers that are calculated again must not take more.
Savings fastest_that_fits(const FitChoices& choices,
                          const std::function<std::int64_t(const Savings&)>& bytes,
                          std::int64_t room);

}  // namespace lockstep::launcher::plan
