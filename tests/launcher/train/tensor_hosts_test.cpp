// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/tensor_hosts.hpp"

#include <doctest/doctest.h>

using lockstep::launcher::tensor_hosts_text;

TEST_CASE("tensor ranks of one host need no warning") {
    CHECK(tensor_hosts_text({"a", "a", "b", "b"}, 2).empty());
    CHECK(tensor_hosts_text({"a", "a", "a", "a"}, 4).empty());
    CHECK(tensor_hosts_text({}, 2).empty());
}

TEST_CASE("the first group of tensor ranks on several hosts is named with its hosts") {
    CHECK(tensor_hosts_text({"a", "a", "a", "b", "b", "b"}, 2) ==
          "warning: 1 of 3 groups of tensor ranks are on several hosts (ranks 2-3 are on a, b), "
          "and each layer waits for the network: give --tensor a number that divides the ranks of "
          "each host");
    const std::string all = tensor_hosts_text({"a", "b", "c", "a", "a", "b", "c", "a"}, 4);
    CHECK(all.find("2 of 2 groups") != std::string::npos);
    CHECK(all.find("ranks 0-3 are on a, b, c)") != std::string::npos);
}
