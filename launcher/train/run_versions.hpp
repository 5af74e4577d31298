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

// Returns what must not change between runs for a bitwise identical resume.
train::Metadata versions_of(const Job& job, const train::TrainOptions& options);

// Names what has changed. Checkpoints of earlier versions do not tell the order of the sums; it is
// then taken for unchanged by --deterministic, and else for that of ranks that do not share.
std::string differences(train::Metadata then, const train::Metadata& now);

}  // namespace lockstep::launcher
