// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/nccl_memory.hpp"

namespace lockstep::launcher::plan {

namespace {

// The figures are from NCCL 2.30's source. A connection has a buffer for each protocol (device.h,
// init.cc): LL has 8 lines for 512 threads in 8 steps of 16 bytes, LL128 has 120 elements for 640
// threads in 8 steps of 8 bytes, and Simple has 4 MiB.
constexpr std::int64_t connection_bytes =
    8 * 512 * 8 * 16 + 120 * 640 * 8 * 8 + (std::int64_t{4} << 20);
// Within a host, a rank of a ring receives from one rank and a rank of a tree from two. Between
// hosts, sending needs a buffer, too.
constexpr std::int64_t connections_in_host = 3, connections_between_hosts = 2;
// A channel is one block, and NCCL is told to use at most 16 (GpuProperties::for_collectives). It
// would use 24 for the NVLink of eight GPUs, and does so on Blackwell. Machines with PCIe only have
// two to four.
constexpr std::int64_t channels = 16;
// nvls.cc allocates, for each rank of the host, 16 channels of twice 8 steps of 128 KiB on Hopper
// (24 channels on Blackwell).
constexpr std::int64_t nvls_bytes_of_rank = 16 * 2 * 8 * (std::int64_t{128} << 10);

}  // namespace

std::int64_t nccl_bytes(int ranks, int ranks_of_host) noexcept {
    if (ranks < 2) return 0;
    const bool in_host = ranks_of_host > 1, between_hosts = ranks > ranks_of_host;
    std::int64_t connections = 0;
    if (in_host) connections += connections_in_host;
    if (between_hosts) connections += connections_between_hosts;
    return channels * connections * connection_bytes +
           (in_host ? ranks_of_host * nvls_bytes_of_rank : 0);
}

}  // namespace lockstep::launcher::plan
