// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Reads the folder of --data and this host's part of its shards: every `parts`-th, beginning with
// `part`. Reads for `read_for` in all, and gives up `timeout_ms` later when a shard does not
// answer.
void look_at_data(const std::string& folder, int part, int parts,
                  std::chrono::milliseconds read_for, int timeout_ms, RankObservations& sight);

}  // namespace lockstep::launcher::doctor
