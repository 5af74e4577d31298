// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/core_times.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;

TEST_CASE(
    "idle time is that of the cores that this thread may run on, also while they wait for a disk") {
    const ScratchFolder scratch;
    std::filesystem::create_directories(scratch / "root/proc");
    int core = 0;
    cpu_set_t usable;
    REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
    while (!CPU_ISSET(core, &usable)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const std::string name = "cpu" + std::to_string(core);
    write_text(scratch / "root/proc/stat",
               "cpu  1 2 3 99999 5 6 7 8 9 10\n" + name +
                   " 100 0 50 1200 300 1 2 3 0 0\ncpu4095 0 0 0 7 7 0 0 "
                   "0 0 0\nintr 12345 1 2 3\n");
    const auto times = core_times(scratch / "root");
    const auto none = core_times(scratch / "none");
    REQUIRE(sched_setaffinity(0, sizeof usable, &usable) == 0);
    REQUIRE(times);
    CHECK(times->cores == 1);
    CHECK(times->idle_s * static_cast<double>(sysconf(_SC_CLK_TCK)) == doctest::Approx(1500));
    CHECK(times->own_s > 0);
    CHECK_FALSE(none);
}

TEST_CASE("what was neither idle nor the process's own was taken by others") {
    const CoreTimes before{2, 100, 10};
    CHECK(cores_of_others(before, {2, 100, 13.5}, 2.5) == doctest::Approx(0.6));
    CHECK(cores_of_others(before, {2, 102, 13}, 2.5) == 0);
    CHECK(cores_of_others(before, {2, 102, 99}, 2.5) == 0);  // idle times are rounded
    CHECK(cores_of_others(before, before, 2.5) == 2);
}
