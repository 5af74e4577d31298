// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

// Rank 0 calls it again and again while it waits for other ranks; what it throws ends the wait. Its
// argument names the ranks that have not come, as "1, 4-7". Empty: it is not called.
using WhileWaiting = std::function<void(const std::function<std::string()>& missing)>;

// Waits until every rank has called it on the job's store. Throws kind peer after `timeout_ms`,
// naming the missing ranks and the hosts of the ranks that have joined, and kind config if another
// process has joined as this rank.
void join_store(Store& store, const RankInfo& rank_info, int timeout_ms,
                const WhileWaiting& while_waiting = {});

// Returns `rank_info` with the rank's number among the ranks of its host, and their number, if
// nobody told them. All ranks call it after join_store() on the same store: they compare the names
// of their hosts. Throws kind config if it contradicts a local_size that was told.
RankInfo agree_on_local_ranks(Store& store, RankInfo rank_info, int timeout_ms);

// Shortens a list of ascending ranks to runs such as "1, 4-7"; after `max_runs` runs it ends with
// "...".
std::string short_list(const std::vector<int>& ranks, int max_runs);

}  // namespace lockstep::comm
