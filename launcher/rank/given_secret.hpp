// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/secret/secret.hpp"

namespace lockstep::launcher {

// Returns the secret of --secret-file, or without it that of the environment; empty if none is
// given. Throws an error that names the file or the variable.
comm::Secret given_secret(const RunConfig& config);

// Throws what is wrong with the secret before a rank of several does anything else. Only the first
// rank of each host throws the error itself; the others throw AlreadyTold.
void require_secret(const RunConfig& config, const comm::RankInfo& rank_info);

}  // namespace lockstep::launcher
