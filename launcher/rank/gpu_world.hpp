// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/gpu_assignment.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"

namespace lockstep::launcher {

// A rank sends these facts about its GPU to the other ranks.
struct GpuUser {
    std::string host, uuid;
    std::string pci = {}, name = {};
    // This is the reason why the rank sees only this GPU: the value of CUDA_VISIBLE_DEVICES, or
    // "all" when the variable is not set and something else hides the others. It is empty when the
    // rank sees several.
    std::string chosen = {};
    std::string without_nccl = {};  // why NCCL cannot be opened; empty: it can
};

// Returns the GPUs of all ranks, indexed by rank. Collective. Long texts are truncated.
std::vector<GpuUser> gather_gpu_users(comm::Communicator& communicator, const GpuUser& own);

// Returns a text such as "rank 0 and rank 4 on node1 share GPU-…", which is empty when every rank
// has its own GPU.
std::string shared_gpus(const std::vector<GpuUser>& users);
// Returns a text such as "rank 0 and rank 1 on node1 have parts of GPU 0000:17:00.0", which is
// empty when no GPU is divided by MIG among several ranks.
std::string parts_of_one_gpu(const std::vector<GpuUser>& users);
// Returns a text such as "NVIDIA H200 (rank 0 on node1 and 6 more), NVIDIA A100 (rank 7 on node2)",
// which is empty when all GPUs are of the same kind.
std::string unlike_gpus(const std::vector<GpuUser>& users);
// Returns the hosts on which a control group shows each rank only its own GPU ("node1, node2"), or
// an empty text. CUDA still knows the other GPUs when CUDA_VISIBLE_DEVICES hides them.
std::string hosts_with_hidden_gpus(const std::vector<GpuUser>& users);

// Tells how the GPUs of a run reduce together. The notes are for the user, one per line.
struct GpuWorld {
    comm::GpuBackend backend = comm::GpuBackend::nccl;
    std::vector<std::string> notes;
};

// Returns the same on every rank. Throws a config error when two ranks share a GPU without
// permission, or when NCCL is required but missing. A required NCCL reports itself whether it
// accepts ranks that share a GPU.
GpuWorld judge_gpu_users(const std::vector<GpuUser>& users, SharedGpu shared,
                         GpuBackendChoice choice);

}  // namespace lockstep::launcher
