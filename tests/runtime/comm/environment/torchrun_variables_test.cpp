// SPDX-License-Identifier: Apache-2.0
// torchrun's variables, in the forms that launchers and scripts give them.
#include <doctest/doctest.h>

#include <string>

#include "runtime/comm/environment/address_text.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/environment/environments.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

std::string refusal_of(const Environment& environment, const RankFlags& rank_flags = {}) {
    try {
        find_rank_info(environment, rank_flags);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE(
    "env:// needs four variables, and the local rank is agreed on later if nothing tells it") {
    const Environment four = without(without(torchrun, "LOCAL_RANK"), "LOCAL_WORLD_SIZE");
    const RankInfo later = find_rank_info(four, {});
    CHECK_FALSE(later.local_rank_known);
    CHECK_FALSE(later.one_host());
    CHECK(later.rank == 5);
    const RankInfo alone_in_pod =
        find_rank_info(four + Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, {});
    CHECK(alone_in_pod.local_rank_known);
    CHECK(alone_in_pod.local_rank == 0);
    const RankInfo one_each = find_rank_info(four + Environment{{"LOCAL_WORLD_SIZE", "1"}}, {});
    CHECK(one_each.local_rank_known);
    CHECK(one_each.local_rank == 0);
    const RankInfo all_here = find_rank_info(four + Environment{{"LOCAL_WORLD_SIZE", "8"}}, {});
    CHECK(all_here.local_rank_known);
    CHECK(all_here.local_rank == 5);
    CHECK_FALSE(find_rank_info(four + Environment{{"LOCAL_WORLD_SIZE", "4"}}, {}).local_rank_known);
    CHECK_FALSE(find_rank_info({}, flags(1, 2)).local_rank_known);
    CHECK(find_rank_info(torchrun, {}).local_rank_known);
    CHECK(find_rank_info(slurm_step, {}).local_rank_known);
}

TEST_CASE("--local-rank of torch.distributed.launch agrees with LOCAL_RANK, or replaces it") {
    RankFlags local;
    local.local_rank = 1;
    CHECK(find_rank_info(torchrun, local).local_rank == 1);
    const RankInfo told = find_rank_info(without(torchrun, "LOCAL_RANK"), local);
    CHECK(told.local_rank == 1);
    CHECK(told.local_rank_known);
    local.local_rank = 2;
    CHECK(refusal_of(torchrun, local) ==
          "--local-rank 2 contradicts torchrun, which says LOCAL_RANK=1: leave it out");
    CHECK(refusal_of({}, local).starts_with("--local-rank 2: no launcher has started"));
    local.local_rank = 0;
    CHECK(find_rank_info({}, local).source == RankSource::alone);
    RankFlags by_hand = flags(1, 2);
    by_hand.local_rank = 1;
    CHECK(find_rank_info({}, by_hand).local_rank == 1);
}

TEST_CASE("blanks at the ends of a variable are no part of it") {
    for (const std::string blank :
         {" ", "\t", "\r", "\n", "\xC2\xA0", "\xE2\x80\x8B", "\xEF\xBB\xBF", " \r\n"}) {
        Environment padded;
        for (const auto& [name, value] : torchrun + Environment{{"MASTER_ADDR", "10.0.0.1"}})
            padded[name] = blank + value + blank;
        const RankInfo rank_info = find_rank_info(padded, {});
        CHECK(rank_info.rank == 5);
        CHECK(rank_info.local_size == 4);
        CHECK(rank_info.master_addr == "10.0.0.1");
        CHECK(rank_info.master_port == 29501);
        Environment step;
        for (const auto& [name, value] : slurm_step) step[name] = blank + value + blank;
        CHECK(find_rank_info(step, {}).master_addr == "n1");
    }
}

TEST_CASE("numbers with anything else in them are refused and shown") {
    for (const std::string junk :
         {"4x", "-1", "+29500", "0x1f", "2 3", "1.0", "two", "4\r5", "99999999999999999999"}) {
        for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"}) {
            const std::string what = refusal_of(torchrun + Environment{{name, junk}});
            CAPTURE(what);
            CHECK(what.starts_with(std::string(name) + "='"));
            CHECK(what.find('\r') == std::string::npos);
        }
    }
    CHECK(refusal_of(torchrun + Environment{{"RANK", "4\r5"}}).find("4\\x0d5") !=
          std::string::npos);
    CHECK(find_rank_info(torchrun + Environment{{"MASTER_PORT", "029500"}}, {}).master_port ==
          29501);
}

TEST_CASE("the store's ports exist for every port of torchrun's, and nobody knows port 0") {
    const auto port = [](const std::string& text) {
        return find_rank_info(torchrun + Environment{{"MASTER_PORT", text}}, {}).master_port;
    };
    CHECK(port("65519") == 65520);
    CHECK(port("65520") == 65504);
    CHECK(port("65535") == 65519);
    CHECK(port("1") == 2);
    CHECK(refusal_of(torchrun + Environment{{"MASTER_PORT", "0"}})
              .starts_with("MASTER_PORT=0: the other ranks cannot know"));
    CHECK(refusal_of(torchrun + Environment{{"MASTER_PORT", "65536"}}).find("from 1 to 65535") !=
          std::string::npos);
}

TEST_CASE("an address is a host alone, and says what to give instead") {
    const auto host = [](const std::string& text) {
        return host_of_address({"MASTER_ADDR=", "MASTER_PORT"}, text);
    };
    CHECK(host(" NODE1.example.org. ") == "NODE1.example.org.");
    CHECK(host("[::1]") == "::1");
    CHECK(host("2001:db8::7") == "2001:db8::7");
    CHECK(host("fe80::1%eth0") == "fe80::1%eth0");
    CHECK(host("[fe80::1%eth0]") == "fe80::1%eth0");
    const auto refused = [](const std::string& text) {
        return refusal_of(torchrun + Environment{{"MASTER_ADDR", text}});
    };
    const std::string alone = ": give the host alone, 10.0.0.1, and the port by MASTER_PORT";
    CHECK(refused("tcp://10.0.0.1:29500") == "MASTER_ADDR='tcp://10.0.0.1:29500'" + alone);
    CHECK(refused("10.0.0.1:29500") == "MASTER_ADDR='10.0.0.1:29500'" + alone);
    CHECK(refused("[::1]:29500").find("give the host alone, [::1],") != std::string::npos);
    CHECK(refused("[::1").find("closing ]") != std::string::npos);
    CHECK(refused("[host]").find("IPv6") != std::string::npos);
    CHECK(refused("::1:29500").find("neither a host's name nor") != std::string::npos);
    CHECK(refused("fe80::1").find("%eth0") != std::string::npos);
    RankFlags master;
    master.master_addr = "tcp://a:1";
    CHECK(refusal_of(slurm_step, master).starts_with("--master-addr 'tcp://a:1': give the host"));
}
