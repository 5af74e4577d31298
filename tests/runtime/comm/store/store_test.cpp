// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_join.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "runtime/comm/store/store_values.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"
#include "tests/runtime/comm/store/served_store.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

std::string value_of(int rank) { return std::string(1000, static_cast<char>('a' + rank)); }

// Closes envelopes for one user, as Munge does.
class FakeEnvelope : public SecretEnvelope {
public:
    explicit FakeEnvelope(std::string user) : user_(std::move(user)) {}
    Reach reach() const noexcept override { return Reach::cluster; }
    std::string name() const override { return "a test"; }
    std::string close(const std::string& text) override { return user_ + ":" + text; }
    std::optional<std::string> open(const std::string& credential) override {
        if (!credential.starts_with(user_ + ":")) return std::nullopt;
        return credential.substr(user_.size() + 1);
    }

private:
    std::string user_;
};

}  // namespace

TEST_CASE("ranks exchange values, wait for them, and count") {
    for (const Secret& secret : {Secret(), Secret("shared")}) {
        const int port = tests::free_port();
        std::vector<std::int64_t> sums(4);
        std::vector<std::thread> ranks;
        for (int rank = 3; rank >= 0; --rank) {  // rank 0 comes last: the others must wait for it
            ranks.emplace_back([&, rank] {
                const auto store = open_store(rank_info_of(rank, 4, port), secret, 10'000);
                store->set("from " + std::to_string(rank), value_of(rank));
                const int next = (rank + 1) % 4;
                CHECK(store->get("from " + std::to_string(next), 10'000) == value_of(next));
                sums[static_cast<std::size_t>(rank)] = store->add("count", 1);
                store->add("left", 1);
                while (rank == 0 && store->add("left", 0) < 4) std::this_thread::yield();
            });
        }
        for (auto& rank : ranks) rank.join();
        std::sort(sums.begin(), sums.end());
        CHECK(sums == std::vector<std::int64_t>{1, 2, 3, 4});
    }
}

TEST_CASE("a value is overwritten, and may be empty or hold any byte") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    client.set("k", "one");
    client.set("k", std::string("\0\n\xff", 3));
    CHECK(client.get("k", 0) == std::string("\0\n\xff", 3));
    client.set("empty", "");
    CHECK(client.get("empty", 0).empty());
    CHECK(client.local_address() == "127.0.0.1");
}

TEST_CASE("a key that nobody sets is a missing rank, and the connection goes on") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    const auto what = kind_of([&] { client.get("never", 20); });
    CHECK(what.find("peer: ") == 0);
    CHECK(what.find("never") != std::string::npos);
    CHECK(client.add("count", 2) == 2);
}

TEST_CASE("another secret is refused on both sides") {
    const Served served(Secret("right"));
    const auto what = kind_of([&] { served.client(Secret("wrong"), 500); });
    CHECK(what.find("peer: ") == 0);
    CHECK(
        what.find("did not let this rank in for 0 s: the store there belongs to a job with another "
                  "secret; give all ranks of a job the same") != std::string::npos);
    CHECK(what.find("right") == std::string::npos);
    CHECK(what.find("wrong") == std::string::npos);
}

TEST_CASE("the store of one host listens on the loopback address that is needed, and no other") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    CHECK(connect_to(resolve("127.0.0.1", port).front(), 1000));
    CHECK_FALSE(connect_to(resolve("127.0.0.2", port).front(), 1000));
}

TEST_CASE(
    "ranks of one host all meet by one family of loopback, also where another job has the other") {
    const int port = tests::free_port();
    const auto other_job = listen_on(resolve("::1", port).front());
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    const auto one = open_store(rank_info_of(1, 2, port), Secret("s"), 5000);
    CHECK(zero->local_address() == "127.0.0.1");
    CHECK(one->local_address() == "127.0.0.1");
}

TEST_CASE("a store does not grow without bound") {
    StoreLimits limits;
    limits.stored_bytes = 1000;
    const Served served(Secret("s"), limits);
    StoreClient client = served.client(Secret("s"));
    client.set("k", std::string(900, 'x'));
    client.set("k", std::string(950, 'x'));  // replaces the value
    CHECK(kind_of([&] { client.set("l", std::string(100, 'x')); }).find("store: ") == 0);
    CHECK(client.get("k", 0).size() == 950);
}

TEST_CASE("the first free port is taken, and ranks find it past another job's store") {
    const Served other(Secret("another job"));
    const Secret secret("this job");
    const auto zero = open_store(rank_info_of(0, 2, other.port()), secret, 5000);
    const auto one = open_store(rank_info_of(1, 2, other.port()), secret, 5000);
    zero->set("k", "v");
    CHECK(one->get("k", 1000) == "v");
}

TEST_CASE("rank 0's end is seen by a rank that waits") {
    const Secret secret("s");
    const int port = tests::free_port();
    auto zero = open_store(rank_info_of(0, 2, port), secret, 5000);
    const auto one = open_store(rank_info_of(1, 2, port), secret, 5000);
    auto waiting =
        std::async(std::launch::async, [&] { return kind_of([&] { one->get("never", 60'000); }); });
    zero.reset();
    CHECK(waiting.get().find("peer: ") == 0);
    CHECK(kind_of([&] { one->add("count", 1); }).find("peer: ") == 0);
}

TEST_CASE("256 ranks join, and their store serves all") {
    constexpr int size = 256;
    const int port = tests::free_port();
    allow_connections(2 * size);
    std::atomic<int> joined = 0;
    std::latch all(size);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto store = open_store(rank_info_of(rank, size, port), Secret("s"), 60'000);
            join_store(*store, rank_info_of(rank, size, port), 60'000);
            ++joined;
            all.arrive_and_wait();
        });
    }
    for (auto& rank : ranks) rank.join();
    CHECK(joined == size);
}

TEST_CASE("ranks whom nobody told their local ranks agree on them by their hosts' names") {
    constexpr int size = 4;
    const int port = tests::free_port();
    std::array<RankInfo, size> found;
    const std::array<std::string, size> hosts{"a", "b", "a", "a"};
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            RankInfo told = rank_info_of(rank, size, port);
            told.local_rank = 0;
            told.local_size = 1;
            told.local_rank_known = told.local_size_known = false;
            told.host = hosts[static_cast<std::size_t>(rank)];
            const auto store = open_store(told, Secret("s"), 10'000);
            join_store(*store, told, 10'000);
            found[static_cast<std::size_t>(rank)] = agree_on_local_ranks(*store, told, 10'000);
            store->add("done", 1);
            while (rank == 0 && store->add("done", 0) < size) std::this_thread::yield();
        });
    }
    for (auto& rank : ranks) rank.join();
    std::string locals;
    for (const RankInfo& one : found)
        locals += std::to_string(one.local_rank) + "/" + std::to_string(one.local_size) + " ";
    CHECK(locals == "0/3 0/1 1/3 2/3 ");
    CHECK(found[3].local_rank_known);
    CHECK(found[3].local_size_known);
}

TEST_CASE("a rank with LOCAL_RANK and one without it are refused at once") {
    for (const int placed : {0, 1}) {
        const int port = tests::free_port();
        std::array<RankInfo, 2> told{rank_info_of(0, 2, port), rank_info_of(1, 2, port)};
        told[static_cast<std::size_t>(1 - placed)].local_rank_known = false;
        const auto zero = open_store(told[0], Secret("s"), 60'000);
        std::string of_one;
        std::thread one([&] {
            const auto store = open_store(told[1], Secret("s"), 60'000);
            of_one = kind_of([&] { join_store(*store, told[1], 60'000); });
        });
        const std::string of_zero = kind_of([&] { join_store(*zero, told[0], 60'000); });
        one.join();
        CHECK(of_zero.find("1 of 2 ranks have no LOCAL_RANK") != std::string::npos);
        CHECK(of_one == of_zero);
    }
}

TEST_CASE("LOCAL_WORLD_SIZE that contradicts the hosts' names is refused") {
    const int port = tests::free_port();
    RankInfo told = rank_info_of(0, 2, port);
    told.local_size = 1;
    told.local_rank_known = false;
    const auto zero = open_store(told, Secret("s"), 5000);
    zero->set("join/0", told.host);
    zero->set("join/1", told.host);
    CHECK(kind_of([&] { agree_on_local_ranks(*zero, told, 5000); }).find("set LOCAL_RANK") !=
          std::string::npos);
}

TEST_CASE("joining names the ranks that have not come") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 8, port), Secret("s"), 5000);
    const auto five = open_store(rank_info_of(5, 8, port), Secret("s"), 5000);
    auto other = std::async(std::launch::async, [&] {
        return kind_of([&] { join_store(*five, rank_info_of(5, 8, port), 300); });
    });
    const auto what = kind_of([&] { join_store(*zero, rank_info_of(0, 8, port), 300); });
    CHECK(what.find("peer: only 2 of 8 ranks") == 0);
    CHECK(what.find("missing: rank 1-4, 6, 7; those here are on " + host_name() + ".") !=
          std::string::npos);
    CHECK(other.get() == what);
    CHECK(short_list({0, 2, 3, 5, 6, 7, 9}, 3) == "0, 2, 3, 5-7, ...");
}

TEST_CASE("rank 0 may end its wait, and learns who is missing") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 8, port), Secret("s"), 5000);
    const auto five = open_store(rank_info_of(5, 8, port), Secret("s"), 5000);
    auto other = std::async(std::launch::async, [&] {
        return kind_of([&] { join_store(*five, rank_info_of(5, 8, port), 60'000); });
    });
    const WhileWaiting ends = [](const std::function<std::string()>& missing) {
        const std::string ranks = missing();
        if (ranks == "1-4, 6, 7") throw Error(ErrorKind::peer, "without " + ranks);
    };
    const auto what = kind_of([&] { join_store(*zero, rank_info_of(0, 8, port), 60'000, ends); });
    CHECK(what == "peer: without 1-4, 6, 7");
    const WhileWaiting goes_on = [](const std::function<std::string()>&) {};
    const int other_port = tests::free_port();
    const auto alone = open_store(rank_info_of(0, 2, other_port), Secret("s"), 5000);
    CHECK(kind_of([&] {
              join_store(*alone, rank_info_of(0, 2, other_port), 300, goes_on);
          }).starts_with("peer: only 1 of 2 ranks"));
    for (const int rank : {1, 2, 3, 4, 6, 7}) zero->set("join/" + std::to_string(rank), "h");
    zero->set("join/all", "0");
    CHECK(other.get().empty());
}

TEST_CASE("processes with another secret are told beside the ranks that are missing") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("right"), 5000);
    kind_of([&] { StoreClient(resolve("127.0.0.1", port), {port}, Secret("wrong"), 500); });
    const auto what = kind_of([&] { join_store(*zero, rank_info_of(0, 2, port), 50); });
    CHECK(what.find("a process with another secret was refused ") != std::string::npos);
    CHECK(what.find(" times, the last time from 127.0.0.1. If that is a rank of this job, give") !=
          std::string::npos);
}

TEST_CASE("a seal hands rank 0's secret to the same user, and one for each job") {
    const auto seal = std::make_shared<FakeEnvelope>("alice");
    const auto stranger = std::make_shared<FakeEnvelope>("mallory");
    const int port = tests::free_port();
    RankInfo rank_info = rank_info_of(0, 2, port);
    rank_info.job = "12.0";
    const auto zero = open_store(rank_info, Secret(), seal, 5000);
    zero->set("k", "v");
    rank_info.rank = rank_info.local_rank = 1;
    CHECK(open_store(rank_info, Secret(), seal, 5000)->get("k", 0) == "v");
    CHECK(kind_of([&] { open_store(rank_info, Secret(), stranger, 500); }).find("another user") !=
          std::string::npos);
    const auto guess = kind_of([&] { open_store(rank_info, Secret("guess"), nullptr, 500); });
    CHECK(guess.find("peer: ") == 0);
    CHECK(guess.find("the ranks there were given no secret") != std::string::npos);
    rank_info.job = "13.0";
    CHECK(kind_of([&] { open_store(rank_info, Secret(), seal, 500); }).find("another secret") !=
          std::string::npos);
}

TEST_CASE("a store that shows no credential is not believed where there is a seal") {
    const auto seal = std::make_shared<FakeEnvelope>("alice");
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    CHECK(kind_of([&] {
              open_store(rank_info_of(1, 2, port), Secret(), seal, 500);
          }).find("share a secret, which this rank was not given") != std::string::npos);
}

TEST_CASE(
    "ranks that may be on several hosts meet on loopback without a secret that can be guessed") {
    const int port = tests::free_port();
    const auto single = [&](int rank) {  // as --rank tells it: nothing of other ranks' hosts
        RankInfo rank_info = rank_info_of(rank, 2, port);
        rank_info.local_rank = 0;
        rank_info.local_size = 1;
        rank_info.master_addr = "localhost";
        return rank_info;
    };
    const auto zero = open_store(single(0), Secret(), 5000);
    zero->set("k", "v");
    CHECK(open_store(single(1), Secret(), 5000)->get("k", 0) == "v");
    const Secret guess("port " + std::to_string(port));
    const Secret of_job = guess.of_job(" of 2 ranks");
    const auto address = resolve("localhost", port);
    CHECK(kind_of([&] { StoreClient(address, {port}, of_job, 500); }).find("no secret, but") !=
          std::string::npos);
    CHECK_FALSE(connect_to(resolve("127.0.0.2", port).front(), 1000));
}

TEST_CASE(
    "a host's own name is no loopback address for other hosts, whatever it resolves to here") {
    RankInfo rank_info = rank_info_of(0, 2, tests::free_port());
    rank_info.local_size = 1;
    rank_info.master_addr = host_name();
    const auto seal = std::shared_ptr<SecretEnvelope>(file_envelope());
    const auto what = kind_of([&] { open_store(rank_info, Secret(), seal, 100); });
    CHECK(what.find("config: ") == 0);
    CHECK(what.find("LOCKSTEP_SECRET") != std::string::npos);
    CHECK(what.find("--master-addr localhost") != std::string::npos);
}

TEST_CASE("a secret does not open the store to other hosts when rank 0's address is loopback") {
    RankInfo rank_info = rank_info_of(0, 2, tests::free_port());
    rank_info.local_size = 1;
    const auto zero = open_store(rank_info, Secret("s"), 5000);
    CHECK(connect_to(resolve("127.0.0.1", rank_info.master_port).front(), 1000));
    CHECK_FALSE(connect_to(resolve("127.0.0.2", rank_info.master_port).front(), 1000));
}

// The last attempt mostly ends with the time for it, without an answer.
TEST_CASE("the reason of a refusal is kept when the time is over in the middle of an attempt") {
    const Served served(Secret("right"));
    const auto silent = resolve("127.0.0.1", tests::free_port()).front();
    const Listening accepts = listen_on(silent);  // but never greets
    const auto what = kind_of([&] {
        StoreClient({served.address}, {served.port(), silent.port()}, Secret("wrong"), 500);
    });
    CHECK(what.find("another secret") != std::string::npos);
    CHECK(what.find("is rank 0 running") == std::string::npos);
}

TEST_CASE("what cannot work is refused with the remedy") {
    RankInfo rank_info = rank_info_of(0, 2, tests::free_port());
    rank_info.local_size = 1;
    rank_info.master_addr = "192.0.2.1";  // TEST-NET-1: belongs to nobody
    const auto seal = std::shared_ptr<SecretEnvelope>(file_envelope());
    CHECK(kind_of([&] { open_store(rank_info, Secret(), seal, 100); }).find("LOCKSTEP_SECRET") !=
          std::string::npos);
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("--master-addr") !=
          std::string::npos);
    rank_info.master_addr = "no-such-host.invalid";
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("no-such-host.invalid") !=
          std::string::npos);
    const auto nobody = rank_info_of(1, 2, tests::free_port());
    CHECK(kind_of([&] { open_store(nobody, Secret("s"), 50); }).find("peer: ") == 0);
}

TEST_CASE("a counter that would overflow is refused and keeps its value") {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    StoreValues values(1'000);
    CHECK(values.add("count", largest) == largest);
    CHECK_FALSE(values.add("count", 1).has_value());
    CHECK(values.add("count", -1) == largest - 1);
}
