// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/wait_notice.hpp"

#include <doctest/doctest.h>

using namespace lockstep;
using namespace lockstep::launcher;

TEST_CASE("a rank that waits says for whom and where") {
    comm::RankInfo rank_info;
    rank_info.size = 4;
    rank_info.host = "n1";
    CHECK(waiting_line(rank_info) == "rank 0 on n1 waits for 3 other ranks\n");
    rank_info.rank = 2;
    rank_info.master_addr = "n0";
    rank_info.master_port = 29500;
    CHECK(waiting_line(rank_info) ==
          "rank 2 on n1 waits for rank 0 and the others at n0, ports 29500 to 29515\n");
}
