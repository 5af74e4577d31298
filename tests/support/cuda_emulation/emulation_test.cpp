// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <vector>

#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace kernels::cuda;

namespace {

struct Reversal {
    int values[96];
};

void reverse_kernel(int* values) {
    auto& shared = shared_memory<Reversal>();
    const int before = shared.values[threadIdx.x];
    shared.values[threadIdx.x] = values[blockIdx.x * 96 + threadIdx.x];
    __syncthreads();
    values[blockIdx.x * 96 + threadIdx.x] = before == -1 ? shared.values[95 - threadIdx.x] : before;
}

// This is the same kernel without the barrier.
void unordered_kernel(int* values) {
    auto& shared = shared_memory<Reversal>();
    shared.values[threadIdx.x] = values[blockIdx.x * 96 + threadIdx.x];
    values[blockIdx.x * 96 + threadIdx.x] = shared.values[95 - threadIdx.x];
}

void half_waits_kernel() {
    if (threadIdx.x < 48) __syncthreads();
}
void wrong_mask_kernel() {
    if (threadIdx.x < 16) __syncwarp(0xFFFFFFFFu);
}

void sums_kernel(int* sums) {
    const int total = block_reduce<Sum>(static_cast<int>(threadIdx.x));
    const int largest = block_reduce<Largest>(static_cast<int>(threadIdx.x) % 40);
    const int below = __shfl_up_sync(whole_warp, static_cast<int>(threadIdx.x), 1);
    if (threadIdx.x == 64) {
        sums[0] = total;
        sums[1] = largest;
        sums[2] = below;  // the first lane keeps its own value
    }
    if (threadIdx.x == 65) sums[3] = below;
    const unsigned odd = __ballot_sync(whole_warp, threadIdx.x % 2 == 1);
    if (threadIdx.x == 0) sums[4] = static_cast<int>(odd);
}

void early_reader_kernel(const int* values, int* seen) {
    alignas(16) int early[4];
    copy16_async(early, values);
    end_copy_group();
    seen[0] = early[0];
    wait_copies<0>();
    seen[1] = early[0];
}

void misaligned_kernel(const float* values) { (void)load16(values + 1); }

std::vector<int> counted(int count) {
    std::vector<int> values;
    for (int i = 0; i < count; ++i) values.push_back(i);
    return values;
}

}  // namespace

TEST_CASE("emulated threads exchange by shared memory, which every block finds undefined") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, counted(3 * 96));
    launch(ctx, reverse_kernel, {3, 96}, values.data());
    const auto after = values.values();
    for (int i = 0; i < 3 * 96; ++i)
        CHECK(after[static_cast<std::size_t>(i)] == i / 96 * 96 + 95 - i % 96);
}

TEST_CASE("the emulation shows a missing barrier as a wrong value") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, counted(3 * 96));
    launch(ctx, unordered_kernel, {3, 96}, values.data());
    const auto after = values.values();
    int undefined = 0;
    for (const int value : after) undefined += value == -1 ? 1 : 0;
    CHECK(undefined > 0);
}

TEST_CASE("the emulation refuses barriers that not every thread reaches, and goes on") {
    device::CudaContext ctx(0);
    const auto run = [&](auto kernel, unsigned threads) {
        launch(ctx, kernel, {1, threads});
        ctx.synchronize();
    };
    CHECK_THROWS_AS(run(half_waits_kernel, 96), Error);
    CHECK_THROWS_AS(run(wrong_mask_kernel, 32), Error);
    CHECK_THROWS_AS(run(half_waits_kernel, 2000), Error);
    run(half_waits_kernel, 32);
}

TEST_CASE("emulated warps and blocks reduce") {
    device::CudaContext ctx(0);
    const OnDevice sums(ctx, std::vector<int>(5, -7));
    launch(ctx, sums_kernel, {1, 96}, sums.data());
    CHECK(sums.values() ==
          std::vector<int>{95 * 96 / 2, 39, 64, 64, static_cast<int>(0xAAAAAAAAu)});
}

TEST_CASE("an emulated asynchronous copy is not there before it is waited for") {
    device::CudaContext ctx(0);
    const OnDevice<int> values(ctx, {1, 2, 3, 4});
    const OnDevice<int> seen(ctx, {0, 0});
    launch(ctx, early_reader_kernel, {1, 1}, values.data(), seen.data());
    CHECK(seen.values() == std::vector<int>{-1, 1});
}

TEST_CASE("an emulated launch has the limits of a device, static shared memory included") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, counted(96));
    const auto run = [&](const Grid& grid) {
        launch(ctx, reverse_kernel, grid, values.data());
        ctx.synchronize();
    };
    constexpr std::size_t granted = 48 << 10;
    static_assert(sizeof(Reversal) > 256);
    run({1, 96, granted - sizeof(Reversal)});
    run({1, 96, granted});  // launch() requests more than the default limit
    CHECK_THROWS_AS(run({1, 96, 200 << 10}), Error);
    CHECK_THROWS_AS(run({{1, 1 << 16}, 96}), Error);
    CHECK_THROWS_AS(run({1, 1025}), Error);
    CHECK_THROWS_AS(run({1, {1, 1, 65}}), Error);
}

TEST_CASE("a kernel asks for more shared memory once, and every time for all that there is") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, counted(96));
    const auto asked = [&](std::size_t kibibytes) {
        const auto work = cuda_emulation::given_by([&] {
            launch(ctx, reverse_kernel, {1, 96, kibibytes << 10}, values.data());
        });
        const auto found = work.calls.find("cudaFuncSetAttribute");
        return found == work.calls.end() ? 0 : found->second;
    };
    CHECK(asked(40) == 0);
    CHECK(asked(100) == 1);
    CHECK(asked(100) == 0);
    CHECK(asked(160) == 0);
    CHECK(asked(162) == 1);
    CHECK(asked(162) == 1);
    ctx.synchronize();
}

TEST_CASE("an emulated kernel that asked for nothing has 48 KiB, its static memory included") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, counted(96));
    cudaLaunchConfig_t config{1, 96, 48 << 10, ctx.stream()};
    const auto run = [&] {
        device::check(cudaLaunchKernelEx(&config, unordered_kernel, values.data()), "launch");
        ctx.synchronize();
    };
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("of static shared memory"), Error);
    config.dynamicSmemBytes -= sizeof(Reversal);
    run();
    config.dynamicSmemBytes = (48 << 10) + 1;
    CHECK_THROWS_AS(run(), Error);
}

TEST_CASE("an emulated 16-byte access needs its alignment") {
    device::CudaContext ctx(0);
    const OnDevice values(ctx, std::vector<float>(8));
    const auto run = [&] {
        launch(ctx, misaligned_kernel, {1, 1}, values.data());
        ctx.synchronize();
    };
    CHECK_THROWS_AS(run(), Error);
}
