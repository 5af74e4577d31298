// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <limits>
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

// AddressSanitizer would end the program where a test uses what lies beside memory.
[[gnu::no_sanitize_address]] void exchange_kernel(unsigned char* memory, std::int64_t place,
                                                  unsigned char* other) {
    const unsigned char before = memory[place];
    memory[place] = *other;
    *other = before;
}

void write_kernel(int* to) {
    if (to != nullptr) *to = 7;
}

// Returns true if `work` ends a process by an abort.
bool aborts(const std::function<void()>& work) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        const rlimit no_core{};
        ::setrlimit(RLIMIT_CORE, &no_core);
        ::close(STDERR_FILENO);
        work();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

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

TEST_CASE("the emulation finds what is written beside memory, the device's and pinned") {
    device::CudaContext ctx(0);
    constexpr std::int64_t size = 100;
    const OnDevice<unsigned char> other(ctx, {0});
    const device::Buffer<unsigned char, CudaSpace> on_device(size);
    const device::PinnedBuffer<unsigned char> pinned(size);
    for (unsigned char* const memory : {on_device.view().data(), pinned.view().data()}) {
        const auto exchange = [&](std::int64_t place) {
            launch(ctx, exchange_kernel, {1, 1}, memory, place, other.data());
            ctx.synchronize();
        };
        for (const std::int64_t inside : {std::int64_t{0}, size - 1}) exchange(inside);
        CHECK(emulated_guards_are_whole());
        for (const std::int64_t beside : {std::int64_t{-1}, size}) {
            exchange(beside);
            CHECK_FALSE(emulated_guards_are_whole());
            exchange(beside);
            CHECK(emulated_guards_are_whole());
        }
    }
}

TEST_CASE("memory beside which something was written cannot be freed, nor as the other kind") {
    device::CudaContext ctx(0);
    void *on_device = nullptr, *pinned = nullptr;
    device::check(cudaMalloc(&on_device, 1), "cudaMalloc");
    device::check(cudaMallocHost(&pinned, 1), "cudaMallocHost");
    const OnDevice<unsigned char> other(ctx, {0});
    const auto spoil = [&](void* memory) {
        launch(ctx, exchange_kernel, {1, 1}, static_cast<unsigned char*>(memory), 1, other.data());
        ctx.synchronize();
    };
    CHECK_FALSE(aborts([&] { cudaFree(on_device); }));
    CHECK_FALSE(aborts([&] { cudaFreeHost(pinned); }));
    CHECK(aborts([&] { cudaFree(pinned); }));
    CHECK(aborts([&] { cudaFreeHost(on_device); }));
    CHECK(aborts([&] {
        spoil(on_device);
        cudaFree(on_device);
    }));
    CHECK(aborts([&] {
        spoil(pinned);
        cudaFreeHost(pinned);
    }));
    cudaFree(on_device);
    cudaFreeHost(pinned);
}

TEST_CASE("an emulated host pins no more than its limit, and the program says what was missing") {
    constexpr std::size_t room = std::size_t{3} << 20;
    const std::size_t before = emulated_pinned_bytes();
    emulated_pinned_limit(before + room);
    CHECK_THROWS_WITH_AS(device::PinnedBuffer<std::byte>(room + 1),
                         doctest::Contains("the host cannot pin 3 MiB more of its memory"), Error);
    {
        const device::PinnedBuffer<std::byte> all(room);
        CHECK(emulated_pinned_bytes() == before + room);
        CHECK_THROWS_AS(device::PinnedBuffer<std::byte>(1), Error);
    }
    CHECK(emulated_pinned_bytes() == before);
    emulated_pinned_limit(std::numeric_limits<std::size_t>::max());
}

TEST_CASE("an emulated kernel reaches the device's memory and pinned memory, and no other") {
    device::CudaContext ctx(0);
    const auto run = [&](int* to) {
        launch(ctx, write_kernel, {1, 1}, to);
        ctx.synchronize();
    };
    const OnDevice<int> on_device(ctx, {0});
    const device::PinnedBuffer<int> pinned(1);
    std::vector<int> pageable(1);
    run(nullptr);
    run(on_device.data());
    run(pinned.view().data());
    CHECK(on_device.values() == std::vector<int>{7});
    CHECK(pinned.view()[0] == 7);
    CHECK_THROWS_WITH_AS(run(pageable.data()), doctest::Contains("cudaErrorIllegalAddress"), Error);
    CHECK(emulated_is_pinned(pinned.view().data()));
    CHECK_FALSE(emulated_is_pinned(pageable.data()));
    CHECK_FALSE(emulated_is_pinned(on_device.data()));
}
