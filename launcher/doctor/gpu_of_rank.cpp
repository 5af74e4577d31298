// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/gpu_of_rank.hpp"

#include <algorithm>

#include "launcher/rank/gpu_assignment.hpp"

namespace lockstep::launcher::doctor {

const Gpu* gpu_of_rank(const RankFacts& rank) {
    const auto& visible = rank.visible_gpus;
    const bool by_slurm = rank.source == comm::name(comm::RankSource::slurm);
    const auto index = gpu_index(visible.size(), rank.local_rank,
                                 by_slurm ? comm::RankSource::slurm : comm::RankSource::alone);
    if (!index) return nullptr;
    const auto& gpus = rank.gpu_host.gpus;
    const auto found = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.index == visible[*index]; });
    return found == gpus.end() ? nullptr : &*found;
}

}  // namespace lockstep::launcher::doctor
