// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "runtime/comm/mesh.hpp"
#include "runtime/device/cuda/cuda_check.hpp"
#include "tests/runtime/comm/nccl_ranks.hpp"

// These tests run with the real NCCL if there are GPUs, and with the emulated one.

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;
using device::CudaContext;

namespace {

template <class T>
void check_type(Rank& rank, std::size_t count) {
    const int own = rank.nccl.rank(), size = rank.nccl.size();
    const auto parts = static_cast<std::size_t>(size);
    const OnDevice sum(rank.context, filled<T>(count, own + 1));
    const OnDevice least(rank.context, filled<T>(count, own + 1));
    const OnDevice most(rank.context, filled<T>(count, own + 1));
    const OnDevice scattered(rank.context, filled<T>(count * parts, own + 1));
    const OnDevice part(rank.context, filled<T>(count, own + 1));
    const OnDevice gathered(rank.context, filled<T>(count * parts, 99));
    const OnDevice sent(rank.context, filled<T>(count, own + 1));
    rank.nccl.all_reduce(sum.view(), ReduceOp::sum, "sum");
    rank.nccl.all_reduce(least.view(), ReduceOp::min, "min");
    rank.nccl.all_reduce(most.view(), ReduceOp::max, "max");
    rank.nccl.reduce_scatter(scattered.view(), ReduceOp::sum, "scatter");
    rank.nccl.all_gather(part.view(), gathered.view(), "gather");
    rank.nccl.broadcast(sent.view(), size - 1, "broadcast");
    rank.nccl.finish();

    const int total = size * (size + 1) / 2;
    const auto all_are = [&](const OnDevice<T>& x, int value) {
        CHECK(to_doubles(x.values()) == filled<double>(count, value));
    };
    all_are(sum, total);
    all_are(least, 1);
    all_are(most, size);
    all_are(sent, size);
    const auto own_part = to_doubles(scattered.values());
    const auto all = to_doubles(gathered.values());
    for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(own_part[static_cast<std::size_t>(own) * count + i] == total);
        for (int r = 0; r < size; ++r)
            REQUIRE(all[static_cast<std::size_t>(r) * count + i] == r + 1);
    }
}

void check_collectives(int size) {
    run_ranks(size, [](Rank& rank) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}}) {
            check_type<float>(rank, count);
            check_type<double>(rank, count);
            check_type<bf16>(rank, count);
            check_type<std::uint64_t>(rank, count);
        }
    });
    CHECK(left_behind() == 0);
}

void check_registered(int size) {
    run_ranks(size, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(64, 1));
        rank.nccl.register_memory(x.view());
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "registered");
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(64, rank.nccl.size()));
    });
    CHECK(left_behind() == 0);
}

void check_timings(int size) {
    run_ranks(size, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1));
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "a");
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "b");
        rank.nccl.finish();
        rank.nccl.broadcast(x.view(), 0, "c");
        rank.nccl.finish();
        const auto first = rank.nccl.take_timings(), second = rank.nccl.take_timings();
        REQUIRE(first.size() == 2);
        REQUIRE(second.size() == 1);
        CHECK(first[0].label + first[1].label + second[0].label == "abc");
        CHECK(first[0].begin <= first[0].end);
        CHECK(first[0].end <= first[1].begin);
        CHECK(rank.nccl.take_timings().empty());
    });
}

}  // namespace

TEST_SUITE_BEGIN("1 rank");

TEST_CASE("NCCL's collectives of one rank, for each type") { check_collectives(1); }

TEST_CASE("timings of one rank are those of the oldest finish() not asked about") {
    check_timings(1);
}

TEST_CASE("memory of one rank is registered until the communicator ends") { check_registered(1); }

TEST_CASE("NCCL splits a part off one rank") {
    run_ranks(1, [](Rank& rank) {
        CHECK(rank.nccl.split(-1) == nullptr);
        const auto part = rank.nccl.split(0);
        REQUIRE(part != nullptr);
        CHECK(part->size() == 1);
        part->barrier("part");
        part->finish();
        CHECK(part->take_timings().size() == 1);
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("joining gives up when a rank does not come") {
    run_as_threads(2, [](Communicator& host) {
        if (host.rank() == 0) {
            CudaContext context(0);
            const auto [kind, text] =
                thrown_by([&] { const NcclCommunicator nccl(context, host, impatient_ms); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "joining by NCCL"));
        } else {
            ncclUniqueId id{};
            host.broadcast(
                HostView<std::byte>(reinterpret_cast<std::byte*>(id.internal), sizeof id), 0, "id");
            host.finish();
        }
    });
    CHECK(left_behind() == 0);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("2 ranks");

TEST_CASE("NCCL's collectives of 2 ranks, for each type") { check_collectives(2); }

TEST_CASE("timings of 2 ranks are those of the oldest finish() not asked about") {
    check_timings(2);
}

TEST_CASE("memory of 2 ranks is registered until the communicators end") { check_registered(2); }

TEST_CASE("finish() makes the compute stream wait, not the host") {
    std::atomic<bool> returned{false};
    run_ranks(2, [&](Rank& rank) {
        connect(rank);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (rank.nccl.rank() == 1)
            while (!returned) std::this_thread::yield();
        rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        rank.nccl.finish();
        returned = true;
        CHECK(x.values() == filled<float>(3, 2));  // because the copy is on the compute stream
    });
}

TEST_CASE(
    "finish(ticket) makes the compute stream wait for its operation, and not for later ones") {
    std::atomic<int> queued{0}, seen{0};
    run_ranks(2, [&](Rank& rank) {
        connect(rank);
        const OnDevice x(rank.context, filled<float>(3, 1)), y(rank.context, filled<float>(3, 1));
        const bool late = rank.nccl.rank() == 1;
        while (late && queued < 1) std::this_thread::yield();
        const Ticket first = rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        if (!late) rank.nccl.all_reduce(y.view(), ReduceOp::sum, "bucket 1");
        ++queued;
        rank.nccl.finish(first);
        std::vector<float> sums(3);  // values() would wait for the communication stream, too
        device::copy(rank.context, x.const_view(), view_of(sums));
        device::check(cudaStreamSynchronize(rank.context.stream()), "cudaStreamSynchronize");
        CHECK(sums == filled<float>(3, 2));
        ++seen;
        while (late && seen < 2) std::this_thread::yield();
        if (late) rank.nccl.all_reduce(y.view(), ReduceOp::sum, "bucket 1");
        rank.nccl.finish();
        CHECK(y.values() == filled<float>(3, 2));
        CHECK(rank.nccl.take_timings().size() == 2);
        rank.nccl.finish(first);  // it is long done
        CHECK_THROWS_AS(rank.nccl.finish(Ticket{4}), Error);
    });
}

TEST_CASE("a rank that never joins an operation is an error of kind peer that names it") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host, impatient_ms);
        connect(rank);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 3");
            rank.nccl.finish();
            const auto [kind, text] = thrown_by([&] { (void)rank.nccl.take_timings(); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "all_reduce \"bucket 3\" on rank 0"));
            CHECK(rank.nccl.activity().operation == "all_reduce \"bucket 3\"");
            const auto again =
                thrown_by([&] { rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 4"); });
            CHECK(again.second == text);
        }
        host.barrier("end");
        host.finish();
    });
}

TEST_CASE("abort() lets go of whoever waits") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        connect(rank);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), ReduceOp::sum, "bucket 3");
            rank.nccl.finish();
            std::thread watchdog([&] {
                rank.nccl.abort(std::make_exception_ptr(Error(ErrorKind::peer, "rank 1 is lost")));
            });
            CHECK(thrown_by([&] { (void)rank.nccl.take_timings(); }).second == "rank 1 is lost");
            watchdog.join();
        }
        host.barrier("end");
        host.finish();
    });
}

TEST_CASE("a rank that fails leaves without waiting for what it has queued") {
    CHECK_THROWS_WITH(run_as_threads(2,
                                     [](Communicator& host) {
                                         // It is declared first, because freeing it waits for the
                                         // work that the communicator releases.
                                         std::optional<OnDevice<float>> x;
                                         Rank rank(host);
                                         connect(rank);
                                         x.emplace(rank.context, filled<float>(3, 1));
                                         if (host.rank() == 1) throw std::logic_error("bad data");
                                         rank.nccl.all_reduce(x->view(), ReduceOp::sum, "lonely");
                                         throw std::logic_error("bad data");
                                     }),
                      "bad data");
    CHECK(left_behind() == 0);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("3 ranks");

TEST_CASE("NCCL sends, receives and waits at a barrier") {
    run_ranks(3, [](Rank& rank) {
        const int own = rank.nccl.rank();
        const OnDevice out(rank.context, filled<float>(5, own + 1));
        const OnDevice in(rank.context, filled<float>(5, 0));
        if (own > 0) rank.nccl.recv(in.view(), own - 1, "from before");
        if (own < 2) rank.nccl.send(out.view(), own + 1, "to the next");
        rank.nccl.barrier("all");
        rank.nccl.finish();
        CHECK(in.values() == filled<float>(5, own));
    });
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("4 ranks");

TEST_CASE("NCCL's collectives of 4 ranks, for each type") { check_collectives(4); }

TEST_CASE("a mesh of GPUs sums over its rows and its columns") {
    run_ranks(4, [](Rank& rank) {
        const Mesh<CudaSpace> mesh({2, 2}, rank.nccl);
        const int own = rank.nccl.rank();
        const OnDevice row(rank.context, filled<float>(2, own + 1));
        const OnDevice column(rank.context, filled<float>(2, own + 1));
        const OnDevice all(rank.context, filled<float>(2, own + 1));
        mesh.shard().all_reduce(row.view(), ReduceOp::sum, "row");
        mesh.world.all_reduce(all.view(), ReduceOp::sum, "all");
        mesh.replica().all_reduce(column.view(), ReduceOp::sum, "column");
        mesh.replica().finish();
        CHECK(column.values() == filled<float>(2, own % 2 == 0 ? 4 : 6));
        mesh.shard().finish();
        CHECK(row.values() == filled<float>(2, own < 2 ? 3 : 7));
        mesh.world.finish();
        CHECK(all.values() == filled<float>(2, 10));
    });
    CHECK(left_behind() == 0);
}

TEST_CASE("a GPU that is a group of its own does not ask NCCL") {
    run_ranks(4, [](Rank& rank) {
        const Mesh<CudaSpace> mesh({1, 4}, rank.nccl);
        CHECK(&mesh.shard() == &mesh.world);
        CHECK(mesh.replica().size() == 1);
        const OnDevice x(rank.context, filled<float>(2, 3));
        mesh.replica().all_reduce(x.view(), ReduceOp::sum, "alone");
        mesh.replica().finish();
        CHECK(x.values() == filled<float>(2, 3));
    });
}

TEST_CASE("NCCL splits by colour, and a rank may be in no part") {
    run_ranks(4, [](Rank& rank) {
        const int own = rank.nccl.rank();
        const auto part = rank.nccl.split(own == 3 ? -1 : own % 2);
        REQUIRE((part == nullptr) == (own == 3));
        if (part) {
            CHECK(part->size() == (own == 1 ? 1 : 2));
            CHECK(part->rank() == own / 2);
            const OnDevice x(rank.context, filled<float>(2, own + 1));
            part->all_reduce(x.view(), ReduceOp::sum, "part");
            part->finish();
            CHECK(x.values() == filled<float>(2, own == 1 ? 2 : 4));
        }
        rank.nccl.barrier("end");
        rank.nccl.finish();
        (void)rank.nccl.take_timings();
    });
    CHECK(left_behind() == 0);
}

TEST_SUITE_END();
