// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::launcher {

enum class SharedGpu { refused, allowed };

// Which of the GPUs that a rank sees is its own: the only one, since its launcher chose it for this
// rank, else that of its local rank; none where there are fewer. Under Slurm, which may show each
// rank some GPUs of its own, the count begins anew with every so many ranks: whether two share one
// shows when they meet (judge_gpu_users).
std::optional<std::size_t> gpu_assignment(std::size_t visible, int local_rank,
                                          comm::PlaceSource source) noexcept;

// The same for a run: with SharedGpu::allowed ranks that find none take turns. Throws a config
// error where there is none to take.
std::size_t assign_gpu(const comm::RankInfo& place, std::size_t visible, SharedGpu shared);

// For the ranks of one host that all see the same GPUs: the same refusal before they are started.
void require_gpu_for_each(const comm::RankInfo& last_rank, std::size_t visible, SharedGpu shared);

}  // namespace lockstep::launcher
