// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/devices/dry_model.hpp"
#include "runtime/comm/tape.hpp"
#include "runtime/train/reduction/step_traffic.hpp"

namespace lockstep::launcher::plan {

// A rank whose traffic is asked for, and how its device sums halves.
struct Sender {
    train::DryRank place;
    train::Master master = train::Master::kept;
    comm::HalfSums half_sums = comm::HalfSums::halves;
};

// Returns what the rank sends in a step of a run with these options, by dry steps. They have only
// as many micro-batches as make a difference: of many passes the middle ones send alike.
train::StepTraffic traffic_in_step(model::DryModel& dry, train::TrainOptions options,
                                   const Sender& sender);

// Returns the options with one lane for each rank, where a rank keeps the same memory with more.
train::TrainOptions with_few_lanes(train::TrainOptions options, int ranks);

}  // namespace lockstep::launcher::plan
