// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/gpu_assignment.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"

namespace lockstep::launcher {

// A rank's GPU as the other ranks hear of it.
struct GpuUser {
    std::string host, uuid;
    std::string pci = {}, name = {};
    // What made it the only GPU that the rank sees: CUDA_VISIBLE_DEVICES, or "all" where that is
    // not set and something else hides the others. Empty: the rank sees several.
    std::string chosen = {};
    std::string without_nccl = {};  // why NCCL cannot be opened; empty: it can
};

// Collective. By rank; texts are cut off where they are too long to matter.
std::vector<GpuUser> gather_gpu_users(comm::Communicator& communicator, const GpuUser& own);

// "rank 0 and rank 4 on node1 share GPU-…"; empty where every rank has its own.
std::string shared_gpus(const std::vector<GpuUser>& users);
// "rank 0 and rank 1 on node1 have parts of GPU 0000:17:00.0"; empty where no GPU is cut by MIG for
// several ranks.
std::string parts_of_one_gpu(const std::vector<GpuUser>& users);
// "NVIDIA H200 (rank 0 on node1 and 6 more), NVIDIA A100 (rank 7 on node2)"; empty where all are
// alike.
std::string unlike_gpus(const std::vector<GpuUser>& users);
// The hosts on which a control group shows each rank its own GPU alone: "node1, node2"; else empty.
// Where CUDA_VISIBLE_DEVICES does, CUDA knows of the others.
std::string hosts_with_hidden_gpus(const std::vector<GpuUser>& users);

// How the GPUs of a run act together, and what the user is to know about it, line by line.
struct GpuWorld {
    comm::GpuBackend backend = comm::GpuBackend::nccl;
    std::vector<std::string> notes;
};

// The same on every rank. Throws a config error where two ranks have one GPU and may not, or where
// NCCL is insisted on and not there; whether it takes ranks that share a GPU is then its own word.
GpuWorld judge_gpu_users(const std::vector<GpuUser>& users, SharedGpu shared,
                         GpuBackendChoice choice);

}  // namespace lockstep::launcher
