// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Tells which rows a rank reads: those of its tensor ranks and stages are the same. --tensor and
// --pipeline divide the ranks.
inline comm::DataPlace data_place_of(const RunConfig& config, const comm::RankInfo& rank_info) {
    return comm::data_place(rank_info.rank, rank_info.size, config.train.tensor,
                            config.train.pipeline);
}

// Tells which layers a rank has.
inline train::PipelineStage stage_of(const RunConfig& config, const comm::RankInfo& rank_info) {
    const int stages = config.train.pipeline;
    return {rank_info.rank / (rank_info.size / stages), stages};
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
            {rank_info.rank % config.train.tensor, config.train.tensor},
            stage_of(config, rank_info)};
}

}  // namespace lockstep::launcher
