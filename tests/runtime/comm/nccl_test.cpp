// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "runtime/comm/make_collectives.hpp"
#include "runtime/comm/nccl_communicator.hpp"
#include "runtime/comm/thread_world.hpp"
#include "tests/support/on_device.hpp"

// With the emulated NCCL, whose ranks are threads.

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;
using device::CudaContext;

namespace {

constexpr int patient_ms = 60'000, impatient_ms = 300;

// A rank with a GPU of its own.
struct Rank {
    explicit Rank(Communicator& ranks, int timeout_ms = patient_ms)
        : host(ranks), nccl(context, ranks, timeout_ms) {}

    Communicator& host;
    CudaContext context{0};
    NcclCommunicator nccl;
};

void run_ranks(int size, const std::function<void(Rank&)>& body) {
    run_as_threads(size, [&](Communicator& host) {
        Rank rank(host);
        body(rank);
    });
}

template <class T>
std::vector<T> filled(std::size_t count, int value) {
    return std::vector<T>(count, static_cast<T>(static_cast<float>(value)));
}

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
    rank.nccl.all_reduce(sum.view(), Reduction::sum, "sum");
    rank.nccl.all_reduce(least.view(), Reduction::min, "min");
    rank.nccl.all_reduce(most.view(), Reduction::max, "max");
    rank.nccl.reduce_scatter(scattered.view(), Reduction::sum, "scatter");
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

// The kind and the text of what `function` throws.
std::pair<ErrorKind, std::string> thrown_by(const std::function<void()>& function) {
    try {
        function();
    } catch (const Error& error) {
        return {error.kind(), error.what()};
    }
    return {ErrorKind::contract, "nothing was thrown"};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("NCCL's collectives of 1, 2 and 4 ranks, for each type") {
    for (const int size : {1, 2, 4})
        run_ranks(size, [](Rank& rank) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{1000}}) {
                check_type<float>(rank, count);
                check_type<double>(rank, count);
                check_type<bf16>(rank, count);
                check_type<std::uint64_t>(rank, count);
            }
        });
    CHECK(emulated_nccl_communicators() == 0);
}

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

TEST_CASE("finish() makes the compute stream wait, not the host") {
    std::atomic<bool> returned{false};
    run_ranks(2, [&](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (rank.nccl.rank() == 1)
            while (!returned) std::this_thread::yield();
        rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 0");
        rank.nccl.finish();
        returned = true;
        CHECK(x.values() == filled<float>(3, 2));  // copied on the compute stream
    });
}

TEST_CASE("an operation starts after what the compute stream was given before") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1));
        const auto kernel = std::make_shared<EmulatedTask>();
        emulated_queue(rank.context.stream(), kernel);
        rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 0");
        rank.nccl.finish();
        for (int i = 0; i < 3; ++i) x.data()[i] = 10;  // what the kernel writes, late
        kernel->done = true;
        CHECK(x.values() == filled<float>(3, 20));
    });
}

TEST_CASE("timings are those of the oldest finish() not asked about") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(3, 1));
        rank.nccl.all_reduce(x.view(), Reduction::sum, "a");
        rank.nccl.all_reduce(x.view(), Reduction::sum, "b");
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

TEST_CASE("a call of NCCL that is accepted soon is not slept for") {
    CHECK(pause_before_look(0).count() == 0);
    CHECK(pause_before_look(100).count() == 0);
    CHECK(pause_before_look(1000).count() > 0);
}

TEST_CASE("a rank that never joins an operation is an error of kind peer that names it") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host, impatient_ms);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 3");
            rank.nccl.finish();
            const auto [kind, text] = thrown_by([&] { (void)rank.nccl.take_timings(); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "all_reduce \"bucket 3\" on rank 0"));
            CHECK(rank.nccl.activity().operation == "all_reduce \"bucket 3\"");
            const auto again =
                thrown_by([&] { rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 4"); });
            CHECK(again.second == text);
        }
        host.barrier("end");
        host.finish();
    });
}

TEST_CASE("a peer whose process has ended is an error of kind peer") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 3");
            rank.nccl.finish();
            emulated_nccl_remote_error();
            const auto [kind, text] = thrown_by([&] { (void)rank.nccl.take_timings(); });
            CHECK(kind == ErrorKind::peer);
            CHECK(contains(text, "remote process exited"));
        }
        host.barrier("end");
        host.finish();
    });
    CHECK(emulated_nccl_communicators() == 0);
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
    CHECK(emulated_nccl_communicators() == 0);
}

TEST_CASE("abort() lets go of whoever waits") {
    run_as_threads(2, [](Communicator& host) {
        Rank rank(host);
        const OnDevice x(rank.context, filled<float>(3, 1));
        if (host.rank() == 0) {
            rank.nccl.all_reduce(x.view(), Reduction::sum, "bucket 3");
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
                                         // Freeing it waits for what the communicator lets go of.
                                         std::optional<OnDevice<float>> x;
                                         Rank rank(host);
                                         x.emplace(rank.context, filled<float>(3, 1));
                                         if (host.rank() == 1) throw std::logic_error("bad data");
                                         rank.nccl.all_reduce(x->view(), Reduction::sum, "lonely");
                                         throw std::logic_error("bad data");
                                     }),
                      "bad data");
    CHECK(emulated_nccl_communicators() == 0);
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
            part->all_reduce(x.view(), Reduction::sum, "part");
            part->finish();
            CHECK(x.values() == filled<float>(2, own == 1 ? 2 : 4));
        }
        rank.nccl.barrier("end");
        rank.nccl.finish();
        (void)rank.nccl.take_timings();
    });
    CHECK(emulated_nccl_communicators() == 0);
}

TEST_CASE("memory is registered until the communicator ends") {
    run_ranks(2, [](Rank& rank) {
        const OnDevice x(rank.context, filled<float>(64, 1));
        rank.nccl.register_memory(x.view());
        CHECK(emulated_nccl_registered() >= 1);
        rank.nccl.all_reduce(x.view(), Reduction::sum, "registered");
        rank.nccl.finish();
        CHECK(x.values() == filled<float>(64, 2));
    });
    CHECK(emulated_nccl_registered() == 0);
}

TEST_CASE("ranks that queue different operations fail, and do not hang") {
    CHECK_THROWS_WITH_AS(
        run_ranks(2,
                  [](Rank& rank) {
                      const OnDevice x(rank.context, filled<float>(4, 1));
                      const auto range = x.view().subview(0, rank.nccl.rank() == 0 ? 4 : 3);
                      rank.nccl.all_reduce(range, Reduction::sum, "uneven");
                      rank.nccl.finish();
                      (void)rank.nccl.take_timings();
                      while (true) rank.nccl.barrier("more");  // until the watcher has seen it
                  }),
        doctest::Contains("invalid usage"), Error);
}

TEST_CASE("a GPU that is alone needs no NCCL") {
    const int before = emulated_nccl_communicators();
    run_as_threads(1, [&](Communicator& host) {
        CudaContext context(0);
        const auto lone = make_collectives(context, host, patient_ms);
        CHECK(emulated_nccl_communicators() == before);
        const OnDevice x(context, filled<float>(4, 7)), y(context, filled<float>(4, 0));
        lone->all_reduce(x.view(), Reduction::sum, "x");
        lone->all_gather(x.view(), y.view(), "y");
        lone->finish();
        CHECK(y.values() == filled<float>(4, 7));
        CHECK(lone->take_timings().empty());
    });
}
