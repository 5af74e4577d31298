// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <future>
#include <thread>

#include "runtime/comm/nccl/make_collectives.hpp"
#include "tests/runtime/comm/nccl_ranks.hpp"

// These tests need an emulated NCCL and an emulated GPU.

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;
using device::CudaContext;

TEST_CASE("an operation starts after what the compute stream was given before") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1));
        const auto kernel = std::make_shared<EmulatedTask>();
        emulated_queue(rank.context.stream(), kernel);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        rank.nccl.finish();
        for (int i = 0; i < 3; ++i) x.data()[i] = 10;  // written late, as if by the kernel
        kernel->done = true;
        CHECK(x.values() == filled<float>(3, 20));
    });
}

TEST_CASE("NCCL leaves room for products") {
    run_ranks(2, [](Rank& rank) {
        CHECK(emulated_nccl_blocks() == rank.context.properties().for_collectives());
        CHECK(emulated_nccl_blocks() > 0);
    });
}

TEST_CASE("the host goes on while NCCL has not accepted an operation") {
    std::atomic<int> queued{0};
    const int calls = emulated_nccl_calls();
    run_as_threads(2, [&](Communicator& host) {
        Rank rank(host, impatient_ms);
        const OnDevice x(rank.context, filled<float>(3, 1)), y(rank.context, filled<float>(3, 1));
        emulated_nccl_hold(EmulatedHold::calls);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        rank.nccl.all_reduce(y.view(), ReduceOp::sum, "bucket 1");
        if (++queued == 2) emulated_nccl_hold(EmulatedHold::nothing);
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(3, 2));
        CHECK(y.values() == filled<float>(3, 2));
        CHECK(rank.nccl.take_timings().size() == 2);
    });
    CHECK(emulated_nccl_calls() - calls == 4);
}

TEST_CASE("NCCL gets the operations of two groups in the order of the calls") {
    std::atomic<int> queued{0};
    const int calls = emulated_nccl_calls();
    run_ranks(2, [&](Rank& rank) {
        const auto group = rank.nccl.group(0);
        const OnDevice x(rank.context, filled<float>(3, 1)), y(rank.context, filled<float>(3, 1));
        emulated_nccl_hold(EmulatedHold::calls);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "of all");
        group->all_reduce(y.view(), ReduceOp::sum, "of the group");
        ++queued;
        while (queued < 2 || emulated_nccl_calls() - calls < 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK(emulated_nccl_calls() - calls == 2);  // the group's wait for their turn
        ++queued;
        while (queued < 4) std::this_thread::yield();
        emulated_nccl_hold(EmulatedHold::nothing);
        group->finish();
        CHECK(y.values() == filled<float>(3, 2));
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(3, 2));
        CHECK(group->take_timings().size() == 1);
        CHECK(rank.nccl.take_timings().size() == 1);
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("a group that fails does not hold up the operations of another") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        const auto group = rank.nccl.group(0);
        const OnDevice x(rank.context, filled<float>(3, 1));
        group->give_up();
        CHECK(thrown_by([&] {
                  group->all_reduce(x.view(), ReduceOp::sum, "of the group");
              }).first == ErrorKind::peer);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "of all");
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(3, 2));
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("a rank whose call is never accepted is an error of kind peer") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host, impatient_ms);
        const OnDevice x(rank.context, filled<float>(3, 1));
        emulated_nccl_hold(EmulatedHold::calls);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 3");
        const auto [kind, text] = thrown_by([&] { rank.nccl.finish(); });
        CHECK(kind == ErrorKind::peer);
        CHECK(contains(text, "all_reduce \"bucket 3\""));
        CHECK(rank.nccl.activity().operation == "all_reduce \"bucket 3\"");
        CHECK(rank.nccl.activity().waited_for);
    });
    emulated_nccl_hold(EmulatedHold::nothing);
    CHECK(left_behind() == 0);
}

TEST_CASE("while NCCL aborts, the watchdog still hears what the rank is at") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        if (host.rank() == 0) {
            emulated_nccl_hold(EmulatedHold::aborts);
            std::atomic<bool> aborted{false};
            std::thread watchdog([&] {
                rank.nccl.abort(std::make_exception_ptr(Error(ErrorKind::peer, "rank 1 is lost")));
                aborted = true;
            });
            while (emulated_nccl_aborting() == 0) std::this_thread::yield();
            auto told = std::async(std::launch::async, [&] { return rank.nccl.activity(); });
            CHECK(told.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
            CHECK(!aborted);
            emulated_nccl_hold(EmulatedHold::nothing);
            watchdog.join();
            CHECK(thrown_by([&] { rank.nccl.barrier("more"); }).second == "rank 1 is lost");
        }
        host.barrier("end");
        host.finish();
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("a call of NCCL that is accepted soon is not slept for") {
    CHECK(pause_before_look(0).count() == 0);
    CHECK(pause_before_look(100).count() == 0);
    CHECK(pause_before_look(1000).count() > 0);
}

TEST_CASE("a peer whose process has ended is an error of kind peer") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        const OnDevice x(rank.context, filled<float>(3, 1));
        host.barrier("joined");
        host.finish();
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 3");
            rank.nccl.finish();
            emulated_nccl_remote_error();
            const auto [kind, text] = thrown_by([&] { (void)rank.nccl.take_timings(); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "remote process exited"));
        }
        host.barrier("end");
        host.finish();
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("memory is registered until the communicator ends") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(64, 1));
        rank.nccl.register_memory(x.view());
        CHECK(emulated_nccl_registered() >= 1);
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "registered");
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(64, 2));
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("ranks that queue different operations fail, and do not hang") {
    CHECK_THROWS_WITH_AS(run_ranks(2,
                                   [](Rank& rank) {
                                       const OnDevice x(rank.context, filled<float>(4, 1));
                                       const auto range =
                                           x.view().subview(0, rank.nccl.rank() == 0 ? 4 : 3);
                                       rank.nccl.all_reduce(range, ReduceOp::sum, "uneven");
                                       rank.nccl.finish();
                                       (void)rank.nccl.take_timings();
                                       while (true)
                                           rank.nccl.barrier("more");  // until the watcher sees it
                                   }),
                         doctest::Contains("invalid usage"), Error);
}

TEST_CASE("a GPU that is alone needs no NCCL") {
    const int before = emulated_nccl_communicators();
    run_as_threads(1, [&](Communicator& host) {
        CudaContext context(0);
        const auto lone = make_collectives(context, host, GpuBackend::nccl, patient_ms, nullptr);
        CHECK(emulated_nccl_communicators() == before);
        const OnDevice x(context, filled<float>(4, 7)), y(context, filled<float>(4, 0));
        lone->all_reduce(x.view(), ReduceOp::sum, "x");
        lone->all_gather(x.view(), y.view(), "y");
        lone->finish();
        CHECK(y.values() == filled<float>(4, 7));
        CHECK(lone->take_timings().empty());
    });
}

TEST_CASE("a split that fails leaves no part behind") {
    run_as_threads(2, [](Communicator& host) {
        {
            Rank rank(host);
            host.barrier("joined");
            host.finish();
            if (host.rank() == 1) emulated_nccl_remote_error();
            host.barrier("an error is there");
            host.finish();
            const auto [kind, text] = thrown_by([&] { rank.nccl.split(0); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "split"));
            host.barrier("both have failed");
            host.finish();
        }
        host.barrier("both have left");
        host.finish();
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("an abort by another thread ends a split that waits for a rank") {
    run_as_threads(2, [](Communicator& host) {
        {
            Rank rank(host);
            if (host.rank() == 0) {
                std::thread other([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    rank.nccl.abort(
                        std::make_exception_ptr(Error(ErrorKind::peer, "rank 1 is lost")));
                });
                CHECK(thrown_by([&] { rank.nccl.split(0); }).second == "rank 1 is lost");
                other.join();
            }
            host.barrier("rank 0 has given up");
            host.finish();
            if (host.rank() == 1) rank.nccl.give_up();
        }
        host.barrier("both have left");
        host.finish();
    });
    CHECK(left_behind() == 0);
}
