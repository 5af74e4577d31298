// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/nccl_memory.hpp"

namespace lockstep::launcher::plan {

namespace {

// By NCCL 2.30's source. A connection has a buffer for each protocol (device.h, init.cc): LL's of 8
// lines for 512 threads in 8 steps of 16 bytes, LL128's of 120 elements for 640 threads in 8 steps
// of 8 bytes, the simple one's of 4 MiB.
constexpr std::int64_t connection_bytes =
    8 * 512 * 8 * 16 + 120 * 640 * 8 * 8 + (std::int64_t{4} << 20);
// A ring receives from one rank, a tree within a host from two; between hosts what is sent has a
// buffer as well.
constexpr std::int64_t connections_in_host = 3, connections_between_hosts = 2;
// As many as NVLink of eight GPUs is worth; machines with PCIe alone have two to four.
constexpr std::int64_t channels = 24;
// nvls.cc: for each rank of the host 16 channels, twice 8 steps of 128 KiB (Hopper's; Blackwell has
// 24 channels).
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
