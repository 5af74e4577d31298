// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>

#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/comm/nccl/make_collectives.hpp"
#include "runtime/comm/nccl/nccl_communicator.hpp"
#include "runtime/comm/nccl/staged_collectives.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/runtime/comm/free_port.hpp"
#include "tests/support/files.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;
using device::CudaContext;

namespace {

constexpr std::size_t small_piece_bytes = 64;

// A rank with its own GPU.
struct Rank {
    explicit Rank(Communicator& ranks) : host(ranks), gpus(context, ranks, small_piece_bytes) {}

    Communicator& host;
    CudaContext context{0};
    StagedCollectives gpus;
};

void run_ranks(int size, const std::function<void(Rank&)>& body) {
    run_as_threads(size, [&](Communicator& host) {
        Rank rank(host);
        body(rank);
    });
}

// Returns numbers whose sums are never exact, different on every rank.
template <class T>
std::vector<T> uneven(std::size_t count, int rank) {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(
            static_cast<T>(1.0F / static_cast<float>(3 + i % 89) * static_cast<float>(1 + rank)));
    return values;
}

template <class T>
std::vector<T> filled(std::size_t count, int value) {
    return std::vector<T>(count, static_cast<T>(static_cast<float>(value)));
}

// A sum over threads has the same bits in pieces or as a whole, because it is taken in the order of
// the ranks.
template <class T>
void check_type(Rank& rank, std::size_t count) {
    const int own = rank.gpus.rank(), size = rank.gpus.size();
    const auto parts = static_cast<std::size_t>(size);
    for (const auto reduction : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
        std::vector<T> expected = uneven<T>(count, own);
        const OnDevice x(rank.context, expected);
        rank.gpus.all_reduce(x.view(), reduction, "x");
        rank.gpus.finish();
        rank.host.all_reduce(view_of(expected), reduction, "expected");
        rank.host.finish();
        CHECK(same_bits(x.values(), expected));
    }
    const OnDevice scattered(rank.context, filled<T>(count * parts, own + 1));
    const OnDevice part(rank.context, filled<T>(count, own + 1));
    const OnDevice gathered(rank.context, filled<T>(count * parts, 99));
    const OnDevice sent(rank.context, uneven<T>(count, own));
    rank.gpus.reduce_scatter(scattered.view(), ReduceOp::sum, "scatter");
    rank.gpus.all_gather(part.view(), gathered.view(), "gather");
    rank.gpus.broadcast(sent.view(), size - 1, "broadcast");
    rank.gpus.finish();
    CHECK(same_bits(sent.values(), uneven<T>(count, size - 1)));
    const auto own_part = to_doubles(scattered.values()), all = to_doubles(gathered.values());
    for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(own_part[static_cast<std::size_t>(own) * count + i] == size * (size + 1) / 2);
        for (int r = 0; r < size; ++r)
            REQUIRE(all[static_cast<std::size_t>(r) * count + i] == r + 1);
    }
}

// Returns the kind and the text of the error that `function` throws.
std::pair<ErrorKind, std::string> thrown_by(const std::function<void()>& function) {
    try {
        function();
    } catch (const Error& error) {
        return {error.kind(), error.what()};
    }
    return {ErrorKind::contract, "nothing was thrown"};
}

// Runs ranks as threads that Gloo connects. Gloo gives up after the timeout.
void run_gloo(int size, int timeout_ms, const std::function<void(Communicator&)>& body) {
    const int port = tests::free_port();
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.emplace_back([=] {
            RankInfo rank_info = alone();
            rank_info.rank = rank_info.local_rank = rank;
            rank_info.size = rank_info.local_size = size;
            rank_info.source = RankSource::flags;
            rank_info.master_addr = "127.0.0.1";
            rank_info.master_port = port;
            CommOptions options;
            options.timeout_ms = timeout_ms;
            options.secret = Secret("of the test");
            body(*make_communicator(rank_info, options));
        });
    for (auto& rank : ranks) rank.join();
}

}  // namespace

TEST_CASE("staged collectives of 1, 2, 4 and 7 ranks have the host's bits, for each type") {
    for (const int size : {1, 2, 4, 7})
        run_ranks(size, [](Rank& rank) {
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{333}}) {
                check_type<float>(rank, count);
                check_type<double>(rank, count);
                check_type<bf16>(rank, count);
                check_type<std::uint64_t>(rank, count);
            }
        });
}

TEST_CASE("staged sums are NCCL's") {
    run_ranks(4, [](Rank& rank) {
        NcclCommunicator nccl(rank.context, rank.host, 60'000);
        const auto values = uneven<float>(1000, rank.gpus.rank());
        const OnDevice staged(rank.context, values), direct(rank.context, values);
        rank.gpus.all_reduce(staged.view(), ReduceOp::sum, "staged");
        nccl.all_reduce(direct.view(), ReduceOp::sum, "direct");
        rank.gpus.finish();
        nccl.finish();
        CHECK(same_bits(staged.values(), direct.values()));
    });
}

TEST_CASE("a staged operation starts after what the compute stream was given before") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(40, 1));
        const auto kernel = std::make_shared<EmulatedTask>();
        emulated_queue(rank.context.stream(), kernel);
        rank.gpus.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        CHECK(rank.gpus.activity().operation.empty());  // the GPU still computes
        for (int i = 0; i < 40; ++i) x.data()[i] = 10;  // written late, as if by the kernel
        kernel->done = true;
        rank.gpus.finish();
        CHECK(x.values() == filled<float>(40, 20));
        CHECK(rank.gpus.activity().completed == 3);  // pieces
    });
}

TEST_CASE("staged buckets travel while the caller goes on") {
    std::atomic<int> arrived{0};
    run_ranks(2, [&](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1)), y(rank.context, filled<float>(3, 1));
        const auto backward = std::make_shared<EmulatedTask>();
        rank.gpus.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        emulated_queue(rank.context.stream(), backward);
        rank.gpus.all_reduce(y.view(), ReduceOp::sum, "bucket 1");
        while (rank.gpus.activity().completed < 1) std::this_thread::yield();
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
        backward->done = true;
        rank.gpus.finish();
        CHECK(x.values() == filled<float>(3, 2));
        CHECK(y.values() == filled<float>(3, 2));
    });
}

TEST_CASE("finish(ticket) of a staged operation does not wait for later ones") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(40, 1)), y(rank.context, filled<float>(3, 1));
        const auto backward = std::make_shared<EmulatedTask>();
        const Ticket first = rank.gpus.all_reduce(x.view(), ReduceOp::sum, "bucket 0");
        emulated_queue(rank.context.stream(), backward);
        rank.gpus.all_reduce(y.view(), ReduceOp::sum, "bucket 1");
        rank.gpus.finish(first);
        CHECK(rank.gpus.take_timings().empty());  // a finish() without a ticket tells of it
        for (int i = 0; i < 40; ++i) CHECK(x.data()[i] == 2);
        backward->done = true;
        rank.gpus.finish();
        CHECK(y.values() == filled<float>(3, 2));
        CHECK(rank.gpus.take_timings().size() == 2);
    });
}

TEST_CASE("a mesh of staged GPUs sums over its rows and its columns") {
    run_ranks(4, [](Rank& rank) {
        const Mesh<CudaSpace> mesh({2, 2}, rank.gpus);
        const int own = rank.gpus.rank();
        const OnDevice row(rank.context, filled<float>(20, own + 1));
        const OnDevice column(rank.context, filled<float>(20, own + 1));
        mesh.shard().all_reduce(row.view(), ReduceOp::sum, "row");
        mesh.replica().all_reduce(column.view(), ReduceOp::sum, "column");
        mesh.replica().finish();
        mesh.shard().finish();
        CHECK(row.values() == filled<float>(20, own < 2 ? 3 : 7));
        CHECK(column.values() == filled<float>(20, own % 2 == 0 ? 4 : 6));
    });
}

TEST_CASE("timings of staged operations are those of the oldest finish() not asked about") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(100, 1));
        (void)rank.host.take_timings();
        rank.gpus.all_reduce(x.view(), ReduceOp::sum, "a");
        rank.gpus.all_reduce(x.view(), ReduceOp::sum, "b");
        rank.gpus.finish();
        rank.gpus.broadcast(x.view(), 0, "c");
        rank.gpus.finish();
        const auto first = rank.gpus.take_timings(), second = rank.gpus.take_timings();
        REQUIRE(first.size() == 2);
        REQUIRE(second.size() == 1);
        CHECK(first[0].label + first[1].label + second[0].label == "abc");
        CHECK(first[0].begin <= first[0].end);
        CHECK(first[0].end <= first[1].begin);
        CHECK(rank.gpus.take_timings().empty());
        CHECK(rank.host.take_timings().empty());  // these are not the host's own
    });
}

TEST_CASE("a rank that never joins a staged operation is an error of kind peer that names it") {
    std::latch given_up(2);
    run_gloo(2, 1'000, [&](Communicator& host) {
        CudaContext context(0);
        StagedCollectives gpus(context, host);
        const OnDevice x(context, filled<float>(3, 1));
        if (host.rank() == 1) return given_up.arrive_and_wait();
        gpus.all_reduce(x.view(), ReduceOp::sum, "bucket 3");
        const auto [kind, text] = thrown_by([&] { gpus.finish(); });
        CHECK(kind == ErrorKind::peer);
        CHECK(contains(text, "all_reduce \"bucket 3\" on rank 0"));
        CHECK(contains(text, "1000 ms"));
        given_up.count_down();
        CHECK(gpus.activity().operation == "all_reduce \"bucket 3\"");
        gpus.all_reduce(x.view(), ReduceOp::sum, "bucket 4");
        CHECK(thrown_by([&] { gpus.finish(); }).second == text);
    });
}

TEST_CASE("a rank that fails leaves staged operations, and lets go of the others") {
    CHECK_THROWS_WITH(run_as_threads(2,
                                     [](Communicator& host) {
                                         Rank rank(host);
                                         const OnDevice x(rank.context, filled<float>(300, 1));
                                         if (host.rank() == 1) throw std::logic_error("bad data");
                                         rank.gpus.all_reduce(x.view(), ReduceOp::sum, "lonely");
                                         const auto [kind, text] =
                                             thrown_by([&] { rank.gpus.finish(); });
                                         CHECK(kind == ErrorKind::peer);
                                         CHECK(contains(text, "lonely"));
                                     }),
                      "bad data");
}

TEST_CASE("giving up does not wait for other ranks") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        const OnDevice x(rank.context, filled<float>(300, 1));
        if (host.rank() == 0) {
            rank.gpus.all_reduce(x.view(), ReduceOp::sum, "lonely");
            rank.gpus.give_up();
            CHECK(rank.gpus.activity().operation.empty());
            CHECK(thrown_by([&] { rank.gpus.finish(); }).first == ErrorKind::peer);
        }
        host.barrier("end");
        host.finish();
    });
}

TEST_CASE("several GPUs reduce as they are told to, and bytes are not added") {
    const int before = emulated_nccl_communicators();
    CHECK(why_no_nccl().empty());
    run_as_threads(2, [&](Communicator& host) {
        CudaContext context(0);
        const auto gpus = make_collectives(context, host, GpuBackend::staged, 60'000, nullptr);
        CHECK(emulated_nccl_communicators() == before);
        const OnDevice bytes(context, std::vector<std::byte>(4));
        CHECK_THROWS_AS(gpus->all_reduce(bytes.view(), ReduceOp::sum, "bytes"), Error);
        CHECK_THROWS_AS(gpus->broadcast(bytes.view(), 2, "to nobody"), Error);
        gpus->broadcast(bytes.view(), 0, "initial weights");
        gpus->finish();
    });
}
