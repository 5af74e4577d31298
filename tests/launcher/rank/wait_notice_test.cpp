// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/wait_notice.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

using namespace lockstep;
using namespace lockstep::launcher;

TEST_CASE("a rank that waits says for whom and where") {
    comm::RankInfo rank_info;
    rank_info.size = 4;
    rank_info.host = "n1";
    CHECK(waiting_line(rank_info) == "rank 0 on n1 waits for 3 other ranks\n");
    rank_info.size = 2;
    CHECK(waiting_line(rank_info) == "rank 0 on n1 waits for 1 other rank\n");
    rank_info.rank = 2;
    rank_info.master_addr = "n0";
    rank_info.master_port = 29500;
    CHECK(waiting_line(rank_info) ==
          "rank 2 on n1 waits for rank 0 and the others at n0, ports 29500 to 29515\n");
}

TEST_CASE("the first rank of a host that waits too long says so once") {
    const auto told = [](const comm::RankInfo& rank_info, std::chrono::milliseconds patience,
                         std::chrono::milliseconds life) {
        std::ostringstream out;
        {
            const WaitNotice notice(rank_info, patience, out);
            std::this_thread::sleep_for(life);
        }
        return out.str();
    };
    using std::chrono::milliseconds;
    comm::RankInfo rank_info;
    rank_info.size = 2;
    std::string line;
    for (int life_ms = 10; line.empty() && life_ms < 100'000; life_ms *= 2)
        line = told(rank_info, milliseconds(0), milliseconds(life_ms));
    CHECK(line == waiting_line(rank_info));
    CHECK(told(rank_info, std::chrono::hours(1), milliseconds(0)).empty());
    rank_info.local_rank = 1;
    CHECK(told(rank_info, milliseconds(0), milliseconds(50)).empty());
    CHECK(told({}, milliseconds(0), milliseconds(50)).empty());
}
