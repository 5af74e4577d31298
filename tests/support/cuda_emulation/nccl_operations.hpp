// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

namespace emulated_nccl {

enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, send, recv };

struct Operation {
    Kind kind;
    const void* from;
    void* to;
    std::size_t count;
    ncclDataType_t type;
    ncclRedOp_t reduction;
    int root;  // or the peer
    EmulatedWork work;
    std::vector<EmulatedWork> before;

    auto shape() const { return std::tuple(kind, count, type, reduction, root); }
};

std::size_t bytes_of(ncclDataType_t type);

// Executes a collective after all ranks have arrived. The operations are ordered by rank.
void execute(const std::map<int, Operation>& operations);

}  // namespace emulated_nccl
