// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace lockstep::launcher {

// NCCL's channels use these paths. nvls sums in the NVLink switch, in addition to the channels;
// `fabric` is NVLink between hosts.
enum class NcclPath {
    nvlink,
    pcie,
    host_memory,
    nvls,
    fabric,
    infiniband_direct,  // or RoCE; the network device accesses GPU memory
    infiniband,
    socket,
    other_network,
    count
};

// Holds the number of a rank's channels on each path.
using NcclPaths = std::array<std::uint64_t, static_cast<std::size_t>(NcclPath::count)>;

// Reads the log that NCCL 2.18 and newer write with NCCL_DEBUG=INFO and
// NCCL_DEBUG_SUBSYS=INIT,GRAPH. Other lines are skipped.
NcclPaths read_nccl_log(std::istream& log);

enum class Hosts { one, several };

// Returns a text such as "within a host NVLink and NVLS, between hosts InfiniBand with GPUDirect".
// It is empty when nothing is known.
std::string describe(const NcclPaths& paths, Hosts hosts);

}  // namespace lockstep::launcher
