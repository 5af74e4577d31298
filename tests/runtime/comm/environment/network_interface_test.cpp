// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/network_interface.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace lockstep;

TEST_CASE(
    "NCCL takes the chosen interface by its whole name, unless its own variable says otherwise") {
    constexpr const char* variable = "NCCL_SOCKET_IFNAME";
    unsetenv(variable);
    comm::tell_nccl("");
    CHECK(std::getenv(variable) == nullptr);
    comm::tell_nccl("ib0");
    CHECK(std::string(std::getenv(variable)) == "=ib0");
    comm::tell_nccl("eth1");
    CHECK(std::string(std::getenv(variable)) == "=ib0");
    unsetenv(variable);
}
