// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Tells which rows a rank reads: those of its tensor ranks are the same. --tensor divides the
// ranks.
inline comm::DataPlace data_place_of(const RunConfig& config, const comm::RankInfo& rank_info) {
    return comm::data_place(rank_info.rank, rank_info.size, config.train.tensor);
}

// Tells which part of the weights and of the state a rank has.
inline train::ReplicaShare replica_share_of(const RunConfig& config,
                                            const comm::RankInfo& rank_info) {
    const comm::DataPlace place = data_place_of(config, rank_info);
    const int sharing = train::sharing_ranks(config.train.zero, place.ranks);
    return {place.ranks,
            sharing,
            place.rank % sharing,
            config.train.reducer,
            config.train.zero.stage,
            {rank_info.rank % config.train.tensor, config.train.tensor}};
}

}  // namespace lockstep::launcher
