// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <omp.h>

#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/kernels/cpu/matmul/matmul.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu;

namespace {

// The times of two cores, and a clock.
struct Cores {
    // So many cores are idle and the process has so many, until the next window.
    int team(double idle, double own, int threads = 2) {
        now += std::chrono::milliseconds(250);
        if (times) times->idle_s += 0.25 * idle, times->own_s += 0.25 * own;
        return size.of(threads);
    }

    std::optional<CoreTimes> times = CoreTimes{2, 5, 9};
    Clock::time_point now{};
    int reads = 0;
    TeamSize size{[this] {
                      ++reads;
                      return times;
                  },
                  [this] { return now; }};
};

template <class T>
Product layer(std::int64_t rows, std::int64_t in, std::int64_t out, std::vector<T>& memory) {
    memory.resize(static_cast<std::size_t>(rows * in + out * in + rows * out));
    T* const w = memory.data() + rows * in;
    T* const y = w + out * in;
    return {rows,
            out,
            in,
            factor(HostMatrix<const T>(memory.data(), rows, in)),
            transposed(HostMatrix<const T>(w, out, in)),
            nullptr,
            y,
            dtype_of<T>,
            out,
            kernels::Into::overwrite};
}

}  // namespace

TEST_CASE("all threads share the work, unless others leave them about one core") {
    Cores cores;
    CHECK(cores.size.of(2) == 2);  // nothing is known yet
    CHECK(cores.team(0, 2) == 2);
    CHECK(cores.team(1.2, 0.8) == 2);  // idle cores are theirs
    CHECK(cores.team(0, 1.6) == 2);
    CHECK(cores.team(0, 1.33) == 1);  // a third process has a third of two cores
    CHECK(cores.team(0, 1) == 1);     // one thread has a core, the other process the other
    CHECK(cores.team(0.1, 0.3) == 1);
    CHECK(cores.team(1, 1) == 2);  // the other process has ended
    CHECK(cores.team(0, 1, 8) == 1);
    CHECK(cores.team(0, 0.5, 1) == 1);
}

TEST_CASE("the cores are looked at a few times a second") {
    Cores cores;
    const int reads = cores.reads;
    for (int i = 0; i < 1000; ++i) {
        cores.now += std::chrono::milliseconds(1);
        CHECK(cores.size.of(1) == 1);
    }
    CHECK(cores.reads == reads);
    for (int i = 0; i < 1000; ++i) {
        cores.now += std::chrono::milliseconds(1);
        cores.size.of(2);
    }
    CHECK(cores.reads - reads >= 2);
    CHECK(cores.reads - reads <= 10);
}

TEST_CASE("the first look comes soon") {
    Cores cores;
    cores.now += std::chrono::milliseconds(60);
    cores.times->own_s += 0.06;
    CHECK(cores.size.of(2) == 1);
    cores.now += std::chrono::milliseconds(60);
    cores.times->own_s += 0.12;
    CHECK(cores.size.of(2) == 1);  // the next one has to wait
}

TEST_CASE("without times of the cores all threads share the work") {
    Cores cores;
    cores.times.reset();
    CHECK(cores.team(0, 0) == 2);
    CHECK(cores.team(0, 0) == 2);
}

TEST_CASE("few elements take one thread") {
    device::CpuContext ctx(2);
    CHECK(team_of(ctx, 0) == 1);
    CHECK(team_of(ctx, smallest_parallel_elements - 1) == 1);
}

TEST_CASE_TEMPLATE("a layer's small product takes one thread", T, float, bf16) {
    std::vector<T> memory;
    CHECK(product_team(layer<T>(1, 128, 384, memory), 4) == 1);
    CHECK(product_team(layer<T>(1, 768, 3072, memory), 4) == 4);
    CHECK(product_team(layer<T>(16, 64, 32, memory), 4) == 1);
    CHECK(product_team(layer<T>(16, 256, 256, memory), 4) == 4);
    // Elsewhere the number of threads decides how the inner elements are divided.
    Product gradient = layer<T>(1, 128, 384, memory);
    gradient.b = factor(HostMatrix<const T>(memory.data(), 128, 384));
    CHECK(product_team(gradient, 4) == 4);
    Product sum = layer<T>(1, 128, 384, memory);
    sum.into = kernels::Into::add;
    CHECK(product_team(sum, 4) == 4);
}

TEST_CASE_TEMPLATE("the numbers of small products do not depend on the number of threads", T, float,
                   bf16) {
    for (const auto& [rows, in, out] : std::vector<std::array<std::int64_t, 3>>{{1, 128, 384},
                                                                                {1, 384, 128},
                                                                                {1, 1000, 7},
                                                                                {4, 64, 64},
                                                                                {16, 64, 32},
                                                                                {2, 2048, 15}}) {
        std::vector<std::vector<T>> results;
        for (const int threads : {1, 2, 3}) {
            std::vector<T> memory;
            const Product p = layer<T>(rows, in, out, memory);
            const auto values = random_numbers<T>(rows * in + out * in, 17);
            std::copy(values.begin(), values.end(), memory.begin());
            device::CpuContext ctx(threads);
            multiply(ctx, p);
            CHECK(omp_get_max_threads() == threads);
            results.emplace_back(memory.end() - rows * out, memory.end());
        }
        for (const auto& result : results)
            CHECK(std::memcmp(result.data(), results.front().data(), result.size() * sizeof(T)) ==
                  0);
    }
}
