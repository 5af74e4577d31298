// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/sharing/host_tensors.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"

using namespace lockstep;

namespace {

// Returns how many of the pages that lie in the values as a whole are not in memory.
std::size_t absent_pages(HostView<const float> values) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(values.data());
    const auto first = (begin + page - 1) / page * page;
    const auto last = (begin + values.size() * sizeof(float)) / page * page;
    std::vector<unsigned char> present((last - first) / page);
    REQUIRE(::mincore(reinterpret_cast<void*>(first), last - first, present.data()) == 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(present, [](unsigned char flags) { return (flags & 1) == 0; }));
}

}  // namespace

TEST_CASE("a copy of moments in int8 is codes and scales, which later updates do not change") {
    train::ParameterTable table;
    table.add("a", {2, 300}, 0, train::WeightDecay::apply);
    device::CpuContext context(1);
    const train::ParameterStore<HostSpace> store(table, train::Precision::fp32);
    train::OptimizerOptions options;
    options.moments = train::Moments::int8;
    const auto optimizer =
        train::make_optimizer<device::CpuContext>(options, table, store, context);
    train::HostTensors<device::CpuContext> tensors(context, table, store, *optimizer);
    std::ranges::fill(store.gradient(), 1.0f);
    kernels::StepState state{.lr = 1, .adam_step_size = 1, .adam_root_correction2 = 1};
    const train::RunTensors copied = tensors.copy();
    REQUIRE(copied.optimizer.size() == 2);
    optimizer->update(&state);
    for (const train::OptimizerTensor& tensor : copied.optimizer) {
        CHECK(tensor.codes.size() == 600);
        CHECK(tensor.values.size() == 3);
        CHECK(tensor.values[0] == 0);
    }
    CHECK(copied.optimizer[0].codes[0] == 127);
    CHECK(tensors.fetch().optimizer[0].codes[0] == 255);
}

TEST_CASE("a copy into reserved memory takes none: all pages are there, and the same ones") {
    train::ParameterTable table;
    table.add("a", {1024, 2048}, 0, train::WeightDecay::apply);
    device::CpuContext context(1);
    const train::ParameterStore<HostSpace> store(table, train::Precision::fp32);
    const auto optimizer = train::make_optimizer<device::CpuContext>({}, table, store, context);
    train::HostTensors<device::CpuContext> tensors(context, table, store, *optimizer);
    const train::RunTensors reserved = tensors.reserve_copy();
    std::vector<const float*> addresses{reserved.master.data()};
    CHECK(absent_pages(reserved.master) == 0);
    REQUIRE_FALSE(reserved.optimizer.empty());
    for (const train::OptimizerTensor& tensor : reserved.optimizer) {
        CHECK(absent_pages(tensor.values) == 0);
        addresses.push_back(tensor.values.data());
    }
    store.master()[5] = 3;
    const train::RunTensors copied = tensors.copy();
    std::vector<const float*> after{copied.master.data()};
    for (const train::OptimizerTensor& tensor : copied.optimizer)
        after.push_back(tensor.values.data());
    CHECK(after == addresses);
    CHECK(copied.master[5] == 3);
    store.master()[5] = 4;
    CHECK(copied.master[5] == 3);
}
