// SPDX-License-Identifier: Apache-2.0
#include "launcher/start_up/nccl_paths.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "launcher/start_up/nccl_log.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

// The lines are as NCCL 2.18 to 2.30 format them; hosts and numbers are made up.

// This is the log of a rank of sixteen, on two hosts of eight H100s with a network device for each
// GPU.
constexpr const char* switched = R"(node1:71:71 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
node1:71:71 [0] NCCL INFO Bootstrap: Using ib0:10.1.0.1<0>
node1:71:99 [0] NCCL INFO NVLS multicast support is available on dev 0
node1:71:99 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 0
node1:71:99 [0] NCCL INFO  0 : NET/0-0 GPU/0-18000 GPU/0-2a000 NET/0-0
node1:71:99 [0] NCCL INFO Pattern 5, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 0
node1:71:99 [0] NCCL INFO NVLS comm 0x7f10 headRank 0 nHeads 8 nvlsRanks 8 buffSize 1048576 nvlsPerRankSize 33554432 nvlsTotalSize 268435456
node1:71:99 [0] NCCL INFO Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
node1:71:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM
node1:71:99 [0] NCCL INFO Channel 01/0 : 0[0] -> 7[7] via P2P/CUMEM/read
node1:71:99 [0] NCCL INFO Channel 01/0 : 0[0] -> 9[1] [send] via NET/IB/3(2)/GDRDMA(PCI)/Shared
node1:71:99 [0] NCCL INFO Connected NVLS tree
)";

// Two GPUs on PCIe under different processors, in two hosts without InfiniBand.
constexpr const char* plain =
    R"(node1:5:9 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 6.000000/5.000000, type SYS/SYS, sameChannels 1
node1:5:9 [1] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/Socket/0
node1:5:9 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct
node1:5:9 [1] NCCL INFO Channel 01/0 : 0[0] -> 2[0] [send] via NET/IB/0
)";

NcclPaths read(const std::string& text) {
    std::istringstream log(text);
    return read_nccl_log(log);
}

std::uint64_t count(const NcclPaths& paths, NcclPath path) {
    return paths[static_cast<std::size_t>(path)];
}

std::string information(const std::string& what) { return "n:1:2 [0] NCCL INFO " + what + "\n"; }

}  // namespace

TEST_CASE("NCCL's log tells by what its channels go") {
    const NcclPaths paths = read(switched);
    CHECK(count(paths, NcclPath::nvlink) == 2);
    CHECK(count(paths, NcclPath::nvls) == 1);
    CHECK(count(paths, NcclPath::infiniband_direct) == 2);
    CHECK(count(paths, NcclPath::infiniband) == 0);
    CHECK(describe(paths, Hosts::several) ==
          "within a host NVLink and NVLS, between hosts InfiniBand with GPUDirect");

    CHECK(describe(read(plain), Hosts::several) ==
          "within a host the host's memory, between hosts InfiniBand through the host's memory and "
          "TCP sockets");
}

TEST_CASE("without NVLink in the graph GPUs reach each other over PCIe") {
    const std::string channel = information("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read");
    CHECK(describe(read(channel), Hosts::one) == "within a host PCIe from GPU to GPU");
    CHECK(describe(read(information("Pattern 4, crossNic 0, nChannels 4, bw 12.0/12.0, type "
                                    "PHB/PIX, sameChannels 1") +
                        channel),
                   Hosts::one) == "within a host PCIe from GPU to GPU");
    CHECK(describe(read(information("Pattern 4, crossNic 0, nChannels 4, bw 20.0/20.0, type "
                                    "NVB/PIX, sameChannels 1") +
                        information("Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer")),
                   Hosts::one) == "within a host NVLink");
}

TEST_CASE("other ways: NVLink between hosts, plugins, a network within the host") {
    CHECK(describe(read(information("Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL")),
                   Hosts::several) == "between hosts NVLink");
    CHECK(describe(read(information("Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS "
                                    "Libfabric/0/GDRDMA")),
                   Hosts::several) == "between hosts a network plugin");
    CHECK(describe(read(information("CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA")),
                   Hosts::several) == "between hosts a network plugin");
    CHECK(describe(read(information("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0")),
                   Hosts::one) == "within a host TCP sockets");
}

TEST_CASE("lines that are not known say nothing") {
    CHECK(describe(read(""), Hosts::one).empty());
    CHECK(describe(read("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\nvia P2P/CUMEM\n\n"), Hosts::one)
              .empty());  // not NCCL's
    CHECK(describe(read(information("Channel 00/0 : 0[0] -> 1[1] via WARP/9") +
                        information("Channel 00/0 :") + information("Pattern 4") +
                        information("NVLS multicast support is not available on dev 0") +
                        "n:1:2 [0] NCCL WARN Channel 00/0 : 0[0] -> 1[1] via SHM\n" +
                        std::string(100'000, 'x')),
                   Hosts::several)
              .empty());
}

TEST_CASE("a log of our own is begun unless the user has one, and goes") {
    ::setenv("NCCL_DEBUG", "WARN", 1);
    CHECK(NcclLog::begin() == nullptr);
    ::unsetenv("NCCL_DEBUG");
    auto log = NcclLog::begin();
    REQUIRE(log != nullptr);
    CHECK(std::string(::getenv("NCCL_DEBUG")) == "INFO");
    CHECK(std::string(::getenv("NCCL_DEBUG_SUBSYS")) == "INIT,GRAPH");
    const std::string path = ::getenv("NCCL_DEBUG_FILE");
    tests::write_text(path, switched);  // as NCCL would
    CHECK(count(log->take(), NcclPath::nvlink) == 2);
    CHECK_FALSE(std::filesystem::exists(path));
    tests::write_text(path, switched);
    log.reset();
    CHECK_FALSE(std::filesystem::exists(path));
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"})
        ::unsetenv(name);
}

TEST_CASE("rank 0 tells once, after the first step, by what all ranks go") {
    ::unsetenv("NCCL_DEBUG");
    const auto log = NcclLog::begin();
    REQUIRE(log != nullptr);
    tests::write_text(::getenv("NCCL_DEBUG_FILE"), switched);
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        std::ostringstream out;
        Log told(out, Verbosity::verbose, ranks.rank(), "rank");
        NcclReport report(ranks.rank() == 1 ? log.get() : nullptr, Hosts::several, ranks, told);
        for (int step = 0; step < 2; ++step) report.on_step({});
        const std::string text = out.str();
        const std::string way = "within a host NVLink and NVLS, between hosts InfiniBand";
        CHECK((text.find(way) != std::string::npos) == (ranks.rank() == 0));
        CHECK(text.find(way) == text.rfind(way));
    });
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"})
        ::unsetenv(name);
}
