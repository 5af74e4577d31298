// SPDX-License-Identifier: Apache-2.0
#include "bench/own_ranks.hpp"

#include <algorithm>

#include "launcher/processes/process_group.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/files/own_binary.hpp"

namespace lockstep::bench {

std::optional<int> start_own_ranks(int ranks, const std::vector<std::string>& arguments) {
    const comm::Environment environment = comm::process_environment();
    if (ranks <= 1 || comm::find_rank_info(environment, {}).source != comm::RankSource::alone)
        return std::nullopt;
    launcher::LocalRanks group;
    group.command = {own_binary()};
    group.command.insert(group.command.end(), arguments.begin(), arguments.end());
    group.size = ranks;
    group.threads_per_rank = std::max(1, launcher::usable_cores() / ranks);
    group.secret = comm::Secret::make();
    return launcher::run_process_group(launcher::local_ranks(group, environment), {}).status;
}

}  // namespace lockstep::bench
