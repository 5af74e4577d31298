// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/given_secret.hpp"

#include "launcher/text/already_told.hpp"
#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

comm::Secret given_secret(const RunConfig& config) {
    return config.secret_file.empty() ? comm::Secret::from(comm::process_environment())
                                      : comm::Secret::from_file(config.secret_file);
}

// The ranks of a host belong to one user and read the same file. Those of another host may read
// another one.
void require_secret(const RunConfig& config, const comm::RankInfo& rank_info) {
    if (rank_info.size == 1) return;
    try {
        (void)given_secret(config);
    } catch (const Error& error) {
        if (rank_info.local_rank == 0) throw;
        throw AlreadyTold(error);
    }
}

}  // namespace lockstep::launcher
