// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace lockstep::launcher {

// What NCCL's channels go by. nvls adds up in the NVLink switch, beside the channels; `fabric` is
// NVLink between hosts.
enum class NcclPath {
    nvlink,
    pcie,
    host_memory,
    nvls,
    fabric,
    infiniband_direct,  // or RoCE; the network's device reaches the GPU's memory itself
    infiniband,
    socket,
    other_network,
    count
};

// How many of a rank's channels go by each.
using NcclPaths = std::array<std::uint64_t, static_cast<std::size_t>(NcclPath::count)>;

// From what NCCL 2.18 and newer write with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH. Lines
// that say nothing of it are passed over.
NcclPaths read_nccl_log(std::istream& log);

enum class Hosts { one, several };

// "within a host NVLink and NVLS, between hosts InfiniBand with GPUDirect"; empty where nothing is
// known.
std::string describe(const NcclPaths& paths, Hosts hosts);

}  // namespace lockstep::launcher
