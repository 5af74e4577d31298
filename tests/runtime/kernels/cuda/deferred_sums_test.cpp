// SPDX-License-Identifier: Apache-2.0
// Tests deferred sums and counts the launches that they save.
#include "runtime/kernels/deferred_sums.hpp"

#include "runtime/device/cuda/cuda_graph.hpp"
#include "runtime/kernels/linear.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using cuda_emulation::DeviceWork;
using cuda_emulation::given_by;
using kernels::CudaContext;
using Deferred = kernels::DeferredSums<CudaContext>;

namespace {

// Gradients of biases of different widths.
struct Biases {
    Biases(CudaContext& context, int count) : ctx(context) {
        for (int i = 0; i < count; ++i) {
            const std::int64_t cols = cols_of(static_cast<std::size_t>(i));
            dy.emplace_back(ctx, random_numbers<bf16>(rows * cols, static_cast<std::uint64_t>(i)));
            db.emplace_back(ctx, std::vector<float>(static_cast<std::size_t>(cols), 2.0f));
        }
    }

    void add(std::size_t i) const {
        const std::int64_t cols = cols_of(i);
        kernels::bias_backward<bf16>(ctx, dy[i].matrix(rows, cols), db[i].view(),
                                     kernels::Into::add);
    }
    void add_all() const {
        for (std::size_t i = 0; i < db.size(); ++i) add(i);
    }
    static std::int64_t cols_of(std::size_t i) { return 8 + 20 * static_cast<std::int64_t>(i % 7); }
    std::vector<float> values() const {
        std::vector<float> all;
        for (const auto& one : db) {
            const auto values = one.values();
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }

    static constexpr std::int64_t rows = 300;
    CudaContext& ctx;
    std::vector<OnDevice<bf16>> dy;
    std::vector<OnDevice<float>> db;
};

constexpr auto second_stage = "column_sums/";

std::vector<float> sums_at_once(int biases, int times) {
    CudaContext ctx(0);
    const Biases all(ctx, biases);
    for (int i = 0; i < times; ++i)
        CHECK(given_by([&] { all.add_all(); }).launches(second_stage) == biases);
    return all.values();
}

}  // namespace

TEST_CASE("deferred sums are those at once, bit for bit, by one launch") {
    CudaContext ctx(0);
    const Biases all(ctx, 5);
    Deferred sums(ctx);
    // The memory for the parts grows at the first use, and the sums that were deferred until then
    // are added.
    all.add_all();
    sums.finish();
    CHECK(same_bits(all.values(), sums_at_once(5, 1)));
    const auto before = all.values();
    CHECK(given_by([&] { all.add_all(); }).launches(second_stage) == 0);
    CHECK(same_bits(all.values(), before));
    CHECK(given_by([&] { sums.finish(); }).launches() == 1);
    CHECK(same_bits(all.values(), sums_at_once(5, 2)));
    CHECK(given_by([&] { sums.finish(); }).launches() == 0);
}

TEST_CASE("a gradient that waits already is added to in order") {
    CudaContext ctx(0);
    const Biases all(ctx, 1);
    {
        Deferred sums(ctx);
        for (int i = 0; i < 3; ++i) all.add(0);
        sums.finish();
        for (int i = 0; i < 2; ++i) all.add(0);
        sums.finish();
    }
    CHECK(same_bits(all.values(), sums_at_once(1, 5)));
    all.add(0);  // no sum is deferred any more
    CHECK(same_bits(all.values(), sums_at_once(1, 6)));
}

TEST_CASE("more sums than a launch takes are two launches, which a capture takes the second time") {
    CudaContext ctx(0);
    constexpr int count = 70;
    const Biases all(ctx, count);
    Deferred sums(ctx);
    const auto work = [&] {
        all.add_all();
        sums.finish();
    };
    work();
    const device::CudaGraph graph(ctx, work);
    const DeviceWork replayed = given_by([&] { graph.launch(ctx); });
    CHECK(replayed.launches(second_stage) == 2);
    CHECK(same_bits(all.values(), sums_at_once(count, 2)));
}

TEST_CASE("sums that were not finished are lost, and two do not wait at a time") {
    CudaContext ctx(0);
    const Biases all(ctx, 2);
    const auto before = all.values();
    {
        Deferred sums(ctx);
        CHECK_THROWS_AS(Deferred{ctx}, Error);
        all.add(1);
    }
    Deferred sums(ctx);
    sums.finish();
    CHECK(same_bits(all.values(), before));
}
