// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/core_binding.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using Cores = std::vector<int>;

TEST_CASE("the kernel's lists of cores") {
    CHECK(parse_cpu_list("0-3,8\n") == Cores{0, 1, 2, 3, 8});
    CHECK(parse_cpu_list("5") == Cores{5});
    CHECK(parse_cpu_list("").empty());
    CHECK(parse_cpu_list("3-1").empty());
    CHECK(parse_cpu_list("0-x").empty());
    CHECK(parse_cpu_list("0-99999999").empty());
}

TEST_CASE("cores near a GPU, by its address as CUDA and NVML write it") {
    const tests::ScratchFolder scratch;
    const std::filesystem::path sys = scratch / "sys";
    const auto folder = sys / "bus/pci/devices/0000:1a:00.0";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "numa_node") << "1\n";
    std::ofstream(folder / "local_cpulist") << "4-7\n";
    CHECK(cores_near("0000:1A:00.0", sys) == Cores{4, 5, 6, 7});
    CHECK(cores_near("00000000:1A:00.0", sys) == Cores{4, 5, 6, 7});
    CHECK(cores_near("0000:1B:00.0", sys).empty());
    std::ofstream(folder / "numa_node") << "-1\n";
    CHECK(cores_near("0000:1A:00.0", sys).empty());
}

TEST_CASE("of the cores that a launcher left, those near the GPU are used, or all") {
    CHECK(cores_to_use({0, 1, 4, 5}, {4, 5, 6, 7}) == Cores{4, 5});
    CHECK(cores_to_use({0, 1}, {4, 5}) == Cores{0, 1});
    CHECK(cores_to_use({0, 1}, {}) == Cores{0, 1});
}

TEST_CASE("a thread is bound to the cores it is given, and those that it starts with it") {
    std::thread([] {
        const Cores all = bound_cores();
        REQUIRE_FALSE(all.empty());
        bind_to_cores({all.back()});
        CHECK(bound_cores() == Cores{all.back()});
        std::thread([&] { CHECK(bound_cores() == Cores{all.back()}); }).join();
    }).join();
}
