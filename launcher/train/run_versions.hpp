// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/rank/job.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Tells in which order this many ranks add gradients, as far as the ranks that share a replica
// decide it.
std::string gradient_sums(const train::TrainOptions& options, int ranks);

// The name of the generator of dropout's masks among the versions.
inline constexpr const char* dropout_masks = "dropout masks";

// Returns what must not change between runs for a bitwise identical resume.
train::Metadata versions_of(const Job& job, const train::TrainOptions& options);

// Names what has changed. Checkpoints of earlier versions do not tell the order of the sums; it is
// then taken for unchanged by --deterministic, and else for that of ranks that do not share. Nor do
// they tell the generator of dropout's masks, which was Philox of ten rounds.
std::string differences(train::Metadata then, const train::Metadata& now);

}  // namespace lockstep::launcher
