// SPDX-License-Identifier: Apache-2.0
// These tests run watchdogs of ranks that are threads, with a real store between them.
#include "runtime/comm/watch/watchdog.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <set>
#include <thread>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

class Recorded : public WatchListener {
public:
    void report(const WatchNews& news) override { reported = news; }
    void end(const WatchNews& news) override {
        ended = encode(news.verdict);
        has_ended = true;
        done.set_value();
    }
    std::string stack() override { return "where it is stuck"; }

    std::optional<WatchNews> reported;
    std::string ended;  // to be read after `done`
    std::atomic<bool> has_ended = false;
    std::promise<void> done;
};

struct Rank {
    Watchdog& watchdog;
    RankProgress& progress;
    Recorded& listener;
    int rank;

    void wait() const { listener.done.get_future().wait(); }
};

RankInfo rank_info_of(int rank, int size) {
    RankInfo rank_info = alone();
    rank_info.rank = rank_info.local_rank = rank;
    rank_info.size = rank_info.local_size = size;
    return rank_info;
}

// Returns an empty address if the file is no IPv4 socket with such a name.
SocketAddress address_of(int file, int (*name)(int, sockaddr*, socklen_t*)) {
    SocketAddress address;
    address.length = sizeof address.storage;
    auto* const generic = reinterpret_cast<sockaddr*>(&address.storage);
    const bool known = name(file, generic, &address.length) == 0 && address.family() == AF_INET;
    return known ? address : SocketAddress();
}

int port_of(int file, int (*name)(int, sockaddr*, socklen_t*)) {
    const SocketAddress address = address_of(file, name);
    return address.family() == AF_INET ? address.port() : 0;
}

std::vector<int> listening_sockets() {
    std::vector<int> files;
    for (int file = 3; file < 1024; ++file) {
        int listens = 0;
        socklen_t size = sizeof listens;
        const bool socket = ::getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
        if (socket && listens != 0) files.push_back(file);
    }
    return files;
}

std::set<int> served_ports() {
    std::set<int> ports;
    for (const int file : listening_sockets()) ports.insert(port_of(file, ::getsockname));
    return ports;
}

std::set<std::string> served_addresses() {
    std::set<std::string> addresses;
    for (const int file : listening_sockets())
        addresses.insert(address_of(file, ::getsockname).text());
    return addresses;
}

// Resets the ranks' ends of all connections, as a network device does: the store hears of it.
void reset_all_connections() {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    const std::set<int> ports = served_ports();
    for (int file = 3; file < 1024; ++file) {
        if (ports.contains(port_of(file, ::getpeername))) ::connect(file, &nobody, sizeof nobody);
    }
}

// Runs `work` as every rank and returns what each listener was told.
std::vector<std::unique_ptr<Recorded>> watch(int ranks, int timeout_ms,
                                             const std::function<void(const Rank&)>& work) {
    ThreadWorld world(ranks);
    std::vector<std::unique_ptr<Recorded>> told;
    for (int rank = 0; rank < ranks; ++rank) told.push_back(std::make_unique<Recorded>());
    run_as_threads(ranks, [&](Communicator& thread) {
        const int rank = thread.rank();
        auto communicator = world.join(rank);
        RankProgress progress;
        Recorded& listener = *told[static_cast<std::size_t>(rank)];
        Watchdog watchdog(rank_info_of(rank, ranks), *communicator, progress, {}, {timeout_ms, 20},
                          listener);
        work({watchdog, progress, listener, rank});
    });
    return told;
}

}  // namespace

TEST_CASE("a rank that fails ends all, told by rank 0 with its own words and place") {
    const auto told = watch(3, 20'000, [](const Rank& self) {
        self.progress.begin_step(7);
        if (self.rank == 2) self.watchdog.fail(Condition::failed, "the chunk is damaged");
        self.wait();
    });
    for (const auto& rank : told) CHECK(rank->ended == "2 failed");
    REQUIRE(told[0]->reported);
    REQUIRE(told[0]->reported->ranks.size() == 3);
    const auto& record = told[0]->reported->ranks[2].record;
    REQUIRE(record);
    CHECK(record->error == "the chunk is damaged");
    CHECK(record->position() == "forward and backward, step 7");
    CHECK(!told[1]->reported);
}

TEST_CASE("rank 0 reports its own failure") {
    const auto told = watch(2, 20'000, [](const Rank& self) {
        if (self.rank == 0) self.watchdog.fail(Condition::failed, "out of memory");
        self.wait();
    });
    CHECK(told[1]->ended == "0 failed");
    REQUIRE(told[0]->reported);
    CHECK(told[0]->reported->own == Condition::failed);
}

TEST_CASE("a rank that hangs in data is named, with its stack") {
    const auto told = watch(3, 400, [](const Rank& self) {
        self.progress.begin_step(1);
        if (self.rank == 1) self.progress.enter(Phase::data);
        self.wait();
    });
    for (const auto& rank : told) CHECK(rank->ended == "1 stuck");
    REQUIRE(told[0]->reported);
    CHECK(told[0]->reported->ranks[1].record->stack == "where it is stuck");
}

TEST_CASE("a rank that its GPU's communication waits for is named, not those that wait") {
    const auto told = watch(3, 400, [](const Rank& self) {
        self.progress.begin_step(5);
        if (self.rank != 1)
            self.progress.watch_device([] { return Activity{7, "all_reduce \"bucket 3\"", true}; });
        self.wait();
    });
    for (const auto& rank : told) CHECK(rank->ended == "1 stuck");
    REQUIRE(told[0]->reported);
    CHECK(told[0]->reported->ranks[2].record->position() ==
          "waiting in all_reduce \"bucket 3\", step 5");
}

TEST_CASE("a rank that saves is waited for while it reads or writes, and no longer") {
    const std::string zeros(4096, '\0');
    std::atomic<bool> written = false;
    const auto told = watch(2, 400, [&](const Rank& self) {
        self.progress.begin_step(1);
        self.progress.enter(self.rank == 0 ? Phase::checkpoint : Phase::computing);
        if (self.rank == 1) {
            self.progress.watch_device([] { return Activity{1, "barrier \"end\"", true}; });
            return self.wait();
        }
        const tests::ScratchFolder scratch;
        std::ofstream out(scratch / "file");
        for (int block = 0; block < 60; ++block) {
            out << zeros << std::flush;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        written = !self.listener.has_ended;
        self.wait();
    });
    CHECK(written);
    for (const auto& rank : told) CHECK(rank->ended == "0 stuck");
}

TEST_CASE("a connection that is reset is made again, and the run goes on") {
    std::latch connected(3);
    const auto told = watch(3, 20'000, [&](const Rank& self) {
        connected.arrive_and_wait();
        if (self.rank == 0) reset_all_connections();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        if (self.rank == 2) self.watchdog.fail(Condition::failed, "later");
        self.wait();
    });
    for (const auto& rank : told) CHECK(rank->ended == "2 failed");
}

TEST_CASE("the store of the watchdogs raises the limit of descriptors for all ranks") {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit low = before;
    low.rlim_cur = std::min<rlim_t>(before.rlim_max, 512);
    setrlimit(RLIMIT_NOFILE, &low);
    ThreadWorld world(1);
    const auto communicator = world.join(0);
    const WatchStore post = open_watch_post(rank_info_of(0, 700), *communicator, {});
    rlimit raised{};
    getrlimit(RLIMIT_NOFILE, &raised);
    CHECK(raised.rlim_cur >= std::min<rlim_t>(before.rlim_max, 700));
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("with rank 0 on localhost only this host reaches the store of the watchdogs") {
    RankInfo rank_info = rank_info_of(0, 1);
    rank_info.size = 2;  // the ranks do not know that they share a host
    rank_info.master_addr = "localhost";
    ThreadWorld world(1);
    const auto communicator = world.join(0);
    const WatchStore post = open_watch_post(rank_info, *communicator, {});
    CHECK(served_addresses() == std::set<std::string>{"127.0.0.1"});
}

TEST_CASE("time in which a process is suspended does not count") {
    using std::chrono::milliseconds;
    AwakeClock clock(milliseconds(10));
    std::this_thread::sleep_for(milliseconds(200));
    CHECK(clock.now() == milliseconds(10));
}

TEST_CASE("after a common end nobody is told anything") {
    const auto told = watch(4, 20'000, [](const Rank& self) { self.watchdog.leave(); });
    for (const auto& rank : told) CHECK(rank->ended.empty());
}

TEST_CASE("a will is carried out when its connection ends, a revoked one is not") {
    const RankInfo rank_info = rank_info_of(0, 1);
    ThreadWorld world(1);
    const auto communicator = world.join(0);
    WatchStore post = open_watch_post(rank_info, *communicator, {});
    ThreadWorld other(1);
    const auto second = other.join(0);
    WatchStore reader = open_watch_post(rank_info, *second, {});
    post.client->set_will("lost/1", "1");
    post.client->set_will("", "");
    post.client->set_will("lost/2", "1");
    CHECK(!post.client->find("lost/2", 0));
    post.client.reset();
    while (post.server->values("lost/").empty()) std::this_thread::yield();
    CHECK(post.server->values("lost/") == std::map<std::string, std::string>{{"lost/2", "1"}});
}
