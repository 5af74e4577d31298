// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/gpu_assignment.hpp"

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

Error too_few(const comm::RankInfo& rank_info, std::size_t visible) {
    return Error(ErrorKind::config,
                 std::to_string(visible) + (visible == 1 ? " GPU is" : " GPUs are") +
                     " visible on " + rank_info.host + " for " +
                     std::to_string(rank_info.local_size) +
                     " ranks: start one rank for each GPU, or give --allow-shared-gpu or "
                     "--device cpu");
}

}  // namespace

std::optional<std::size_t> gpu_index(std::size_t visible, int local_rank,
                                     comm::RankSource source) noexcept {
    if (visible == 0) return std::nullopt;
    if (visible == 1) return 0;
    const auto index = static_cast<std::size_t>(local_rank);
    if (source == comm::RankSource::slurm) return index % visible;
    return index < visible ? std::optional(index) : std::nullopt;
}

std::size_t assign_gpu(const comm::RankInfo& rank_info, std::size_t visible, SharedGpu shared) {
    if (visible == 0)
        throw Error(ErrorKind::config,
                    "no GPU is visible on " + rank_info.host +
                        ": choose a host with GPUs (srun --gpus-per-node N), or look at "
                        "CUDA_VISIBLE_DEVICES");
    if (const auto index = gpu_index(visible, rank_info.local_rank, rank_info.source))
        return *index;
    if (shared == SharedGpu::allowed)
        return static_cast<std::size_t>(rank_info.local_rank) % visible;
    throw too_few(rank_info, visible);
}

void require_gpu_for_each(const comm::RankInfo& last_rank, std::size_t visible, SharedGpu shared) {
    if (shared == SharedGpu::refused && static_cast<std::size_t>(last_rank.local_rank) >= visible)
        throw too_few(last_rank, visible);
}

}  // namespace lockstep::launcher
