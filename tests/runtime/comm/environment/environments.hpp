// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::tests {

using comm::Environment;
using comm::RankFlags;

inline const Environment torchrun = {{"RANK", "5"},        {"LOCAL_RANK", "1"},
                                     {"WORLD_SIZE", "8"},  {"LOCAL_WORLD_SIZE", "4"},
                                     {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
inline const Environment slurm_step = {{"SLURM_JOB_ID", "1234"},
                                       {"SLURM_STEP_ID", "0"},
                                       {"SLURM_PROCID", "6"},
                                       {"SLURM_NTASKS", "8"},
                                       {"SLURM_STEP_NUM_TASKS", "8"},
                                       {"SLURM_LOCALID", "2"},
                                       {"SLURM_NODEID", "1"},
                                       {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                                       {"SLURM_STEP_NODELIST", "n[1-2]"}};

inline Environment operator+(Environment a, const Environment& b) {
    for (const auto& [key, value] : b) a[key] = value;
    return a;
}

inline Environment without(Environment environment, const std::string& key) {
    environment.erase(key);
    return environment;
}

inline RankFlags flags(int rank, int size) {
    RankFlags result;
    result.rank = rank;
    result.size = size;
    result.master_addr = "f";
    return result;
}

}  // namespace lockstep::tests
