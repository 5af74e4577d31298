// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/gloo/gloo_transport.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/collective_checks.hpp"
#include "tests/runtime/comm/free_port.hpp"
#include "tests/runtime/comm/gloo/gloo_ranks.hpp"
#include "tests/runtime/comm/gloo/passing_store.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

// Starts a rank in its own process. It sums without end, and exits with code 3 when a peer ends.
pid_t start_peer(int rank, int size, int port, int timeout_ms, int ready, int go,
                 const std::string& element) {
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gloo_peer";
    const std::vector<std::string> words = {program,
                                            std::to_string(rank),
                                            std::to_string(size),
                                            std::to_string(port),
                                            std::to_string(timeout_ms),
                                            std::to_string(ready),
                                            std::to_string(go),
                                            element};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    return pid;
}

// Starts three ranks, sends `signal` to the last in the middle of their sums, and returns the exit
// codes of the others.
std::vector<int> codes_after(int signal, int timeout_ms, const std::string& element) {
    const int port = tests::free_port();
    int ready[2], go[2];
    REQUIRE(::pipe(ready) == 0);
    REQUIRE(::pipe(go) == 0);
    std::vector<pid_t> peers;
    for (int rank = 0; rank < 3; ++rank) {
        peers.push_back(start_peer(rank, 3, port, timeout_ms, ready[1], go[0], element));
    }
    ::close(ready[1]);
    char token = 0;
    for (int rank = 0; rank < 3; ++rank) REQUIRE(::read(ready[0], &token, 1) == 1);
    REQUIRE(::write(go[1], "ggg", 3) == 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they are in a sum, as a rule
    ::kill(peers[2], signal);
    std::vector<int> codes;
    for (int rank = 0; rank < 2; ++rank) {
        int status = 0;
        ::waitpid(peers[static_cast<std::size_t>(rank)], &status, 0);
        codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    ::kill(peers[2], SIGKILL);
    ::waitpid(peers[2], nullptr, 0);
    for (const int end : {ready[0], go[0], go[1]}) ::close(end);
    return codes;
}

}  // namespace

TEST_CASE("Gloo adds bf16 in fp32, in the order of the ranks") {
    for (const int size : {2, 3, 7}) {
        CAPTURE(size);
        // The parts of an all_reduce on 3 ranks, and those of a reduce_scatter, have three pieces.
        const std::size_t most = size == 3 ? 1'600'000 : size == 2 ? 600'000 : 300'000;
        const auto failures = run_gloo(size, 60'000, [&](Communicator& ranks) {
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, most})
                tests::check_owner_sums(ranks, count);
        });
        for (const auto& failure : failures) CHECK(text_of(failure) == "");
    }
}

TEST_CASE("Gloo does every collective on every type") {
    for (const int size : {2, 3, 4, 7}) {
        CAPTURE(size);
        const auto failures = run_gloo(size, 20'000, [](Communicator& ranks) {
            for (const std::size_t count : {0u, 1u, 5u, 1000u}) {
                tests::check_collectives(ranks, count);
            }
        });
        for (const auto& failure : failures) CHECK(text_of(failure) == "");
    }
}

TEST_CASE("ranges of several segments, and of uneven parts") {
    const auto failures = run_gloo(3, 20'000, [](Communicator& ranks) {
        for (const std::size_t count : {1'200'001u, 131'072u * 3, 2u}) {
            std::vector<float> data(count);
            for (std::size_t i = 0; i < count; ++i) {
                data[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(ranks.rank()));
            }
            ranks.all_reduce(view_of(data), ReduceOp::sum, "large");
            ranks.finish();
            for (std::size_t i = 0; i < count; ++i) {
                if (data[i] != static_cast<float>(3 * (i % 1000) + 3)) {
                    throw std::runtime_error("wrong sum at " + std::to_string(i));
                }
            }
        }
    });
    for (const auto& failure : failures) CHECK(text_of(failure) == "");
}

TEST_CASE("Gloo's world splits, more than once") {
    const auto failures = run_gloo(4, 20'000, [](Communicator& ranks) {
        tests::check_split(ranks, 5);
        tests::check_split(ranks, 5);
    });
    for (const auto& failure : failures) CHECK(text_of(failure) == "");
}

TEST_CASE_TEMPLATE("a rank that throws ends the others long before the time-out", T, float, bf16) {
    const auto failures = run_gloo(3, 600'000, [](Communicator& ranks) {
        std::vector<T> data(100'000);
        ranks.barrier("all here");
        ranks.finish();
        if (ranks.rank() == 1) throw std::runtime_error("planned");
        while (true) {
            ranks.all_reduce(view_of(data), ReduceOp::sum, "bucket 4");
            ranks.finish();
        }
    });
    CHECK(text_of(failures[1]) == "planned");
    for (const std::size_t rank : {0u, 2u}) {
        const std::string text = text_of(failures[rank]);
        CAPTURE(text);
        CHECK(text.starts_with("peer: "));
        CHECK(text.find("bucket 4") != std::string::npos);
    }
}

TEST_CASE("a rank that never comes is a time-out of kind peer") {
    std::latch given_up(2);
    const auto failures = run_gloo(2, 1'000, [&](Communicator& ranks) {
        if (ranks.rank() == 1) return given_up.arrive_and_wait();
        std::vector<float> data(10);
        try {
            ranks.all_reduce(view_of(data), ReduceOp::sum, "alone here");
            ranks.finish();
        } catch (...) {
            given_up.count_down();
            throw;
        }
        given_up.count_down();
    });
    CHECK(text_of(failures[0]).starts_with("peer: "));
    CHECK(text_of(failures[0]).find("1000 ms") != std::string::npos);
}

TEST_CASE("a rank that gives up in the middle of a sum does not wait for it") {
    const auto failures = run_gloo(2, 600'000, [](Communicator& ranks) {
        std::vector<float> data(10);
        if (ranks.rank() == 0) ranks.all_reduce(view_of(data), ReduceOp::sum, "never joined");
        if (ranks.rank() == 0) throw std::runtime_error("planned");
        ranks.broadcast(view_of(data), 0, "never sent");
        ranks.finish();
    });
    CHECK(text_of(failures[0]) == "planned");
    CHECK(text_of(failures[1]).starts_with("peer: "));
}

TEST_CASE("killed and stopped processes are noticed by all others") {
    for (const std::string element : {"fp32", "bf16"}) {
        CAPTURE(element);
        CHECK(codes_after(SIGKILL, 60'000, element) == std::vector<int>{3, 3});
        CHECK(codes_after(SIGSTOP, 2'000, element) == std::vector<int>{3, 3});
    }
}

TEST_CASE("what cannot work is refused with the remedy") {
    const auto refused = [](const RankInfo& rank_info, const CommOptions& options) {
        try {
            make_communicator(rank_info, options);
        } catch (const Error& error) {
            return std::string(name(error.kind())) + ": " + error.what();
        }
        return std::string();
    };
    auto options = options_of(5000);
    options.interface = "no-such-if0";
    auto two = rank_info_of(0, 2, tests::free_port());
    CHECK(refused(two, options).find("--interface 'no-such-if0'") != std::string::npos);
    options.interface.clear();
    options.backend = Backend::mpi;
    CHECK(refused(two, options).find("config: MPI did not start") == 0);
    options = options_of(0);
    CHECK(refused(two, options).find("config: ") == 0);
    CHECK_THROWS_AS(parse_backend("nccl"), Error);
    CHECK(parse_backend("auto") == Backend::automatic);
    CHECK(make_communicator(alone(), CommOptions())->size() == 1);
}

namespace {

// Stands for a stranger: all that it says comes from the job's store, but it does not know the key.
class WithoutKey : public PassingStore {
public:
    using PassingStore::PassingStore;
    std::string key_for(const std::string& purpose) const override {
        return PassingStore::key_for(purpose + " guessed");
    }
};

std::string joined_with(int rank, int size, int port, int stranger) {
    try {
        std::shared_ptr<Store> store =
            open_store(rank_info_of(rank, size, port), Secret("of the test"), 5000);
        if (rank == stranger) store = std::make_shared<WithoutKey>(store);
        GlooOptions options;
        options.address = "127.0.0.1";
        options.timeout_ms = 5000;
        connect_gloo(rank, size, store, options)->barrier();
    } catch (const Error& error) {
        return std::string(name(error.kind())) + ": " + error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a rank that does not know the key is refused by all others") {
    for (const int size : {2, 3}) {
        const int port = tests::free_port();
        std::vector<std::string> ends(static_cast<std::size_t>(size));
        {
            std::vector<std::jthread> ranks;
            for (int rank = 0; rank < size; ++rank)
                ranks.emplace_back([&, rank] {
                    ends[static_cast<std::size_t>(rank)] = joined_with(rank, size, port, 1);
                });
        }
        CHECK(ends[0].find("peer: rank 1 did not answer within ") == 0);
        CHECK(ends[0].find("another program has connected that does not know this job's secret") !=
              std::string::npos);
        for (const std::string& end : ends) CHECK(end.find("peer: ") == 0);
    }
}

namespace {

// Counts the addresses that a rank publishes from begin() on until it waits for that of another.
class CountingStore : public PassingStore {
public:
    using PassingStore::PassingStore;
    void begin() {
        counts_ = true;
        sets_ = 0;
    }
    std::shared_future<int> published() const { return published_; }
    void set(const std::string& key, const std::string& value) override {
        ++sets_;
        PassingStore::set(key, value);
    }
    std::string get(const std::string& key, int timeout_ms) override {
        if (std::exchange(counts_, false)) waits_.set_value(sets_);
        return PassingStore::get(key, timeout_ms);
    }

private:
    bool counts_ = false;
    int sets_ = 0;
    std::promise<int> waits_;
    std::shared_future<int> published_ = waits_.get_future().share();
};

}  // namespace

// Rank 0 of 24 is near 1, 2, 4, 8, 16 and those on its other side, and connects with others by
// eights, so that it waits for 3, 5, 6 and 7 first.
TEST_CASE("a rank that connects with all others keeps few ports for them at a time") {
    constexpr int size = 24;
    const int port = tests::free_port();
    const auto open = [&](int rank) {
        return open_store(rank_info_of(rank, size, port), Secret("of the test"), 20'000);
    };
    const auto counting = std::make_shared<CountingStore>(open(0));
    const auto sum_on = [&, published = counting->published()](int rank) {
        const std::shared_ptr<Store> store = rank == 0 ? counting : std::shared_ptr(open(rank));
        const auto ranks = connect_gloo(rank, size, store, {"", "127.0.0.1", 20'000});
        std::vector<bf16> values(50, bf16(1.0F));
        if (rank == 0) counting->begin();
        if (rank != 0) std::shared_future(published).wait_for(std::chrono::seconds(20));
        ranks->all_reduce(view_of(values), ReduceOp::sum);
        return static_cast<float>(values.back());
    };
    std::vector<std::future<float>> sums;
    for (int rank = 0; rank < size; ++rank)
        sums.push_back(std::async(std::launch::async, sum_on, rank));
    for (auto& sum : sums) CHECK(sum.get() == 24);
    CHECK(counting->published().get() == 4);
}

TEST_CASE("the limit of descriptors is raised for connections with all others, or named") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit changed = before;
    changed.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &changed) == 0);
    allow_all_connections(0, 300);
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &changed) == 0);
    CHECK(changed.rlim_cur > 300);
    std::string text;
    try {
        allow_all_connections(3, 2'000'000'000);  // more than any system allows
    } catch (const Error& error) {
        text = std::string(name(error.kind())) + ": " + error.what();
    }
    CAPTURE(text);
    CHECK(text.starts_with("config: rank 3 of 2000000000 may have "));
    CHECK(text.find("allow more (ulimit -n 20000000") != std::string::npos);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}
