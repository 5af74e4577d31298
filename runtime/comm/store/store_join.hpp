// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/place/rank_info.hpp"
#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

// Waits until every rank has called it on the job's store. Throws kind peer after `timeout_ms`,
// with the ranks that have not come, and the hosts of those that have.
void join_store(Store& store, const RankInfo& place, int timeout_ms);

// Ascending ranks in short: "1, 4-7"; after `most` runs "...".
std::string short_list(const std::vector<int>& ranks, int most);

}  // namespace lockstep::comm
