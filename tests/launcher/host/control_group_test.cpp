// SPDX-License-Identifier: Apache-2.0
// Control groups as kernels, containers and their runtimes show them.
#include "launcher/host/control_group.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "launcher/host/control_group_folders.hpp"
#include "tests/launcher/host/fake_root.hpp"

using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

const std::string cgroup2_at_usual_place =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

std::string cpu_mount(const std::string& shown) {
    return "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
           "32 31 0:29 " +
           shown + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
}

}  // namespace

TEST_CASE("every quota on the way up counts, with the group that has it") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo", cgroup2_at_usual_place);
    root.file("/proc/self/cgroup", "0::/kubepods.slice/pod.slice/container\n");
    root.file("/sys/fs/cgroup/kubepods.slice/pod.slice/container/cpu.max", "max 100000\n");
    root.file("/sys/fs/cgroup/kubepods.slice/pod.slice/cpu.max", "250000 100000\n");
    root.file("/sys/fs/cgroup/kubepods.slice/cpu.max", "50000 10000\n");
    root.file("/sys/fs/cgroup/kubepods.slice/pod.slice/container/cpu.weight", "20\n");
    const auto groups = cpu_groups(root.path);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].cores == 2.5);
    CHECK(groups[1].cores == 5);
    CHECK(groups[0].id != groups[1].id);
    CHECK(control_group_cores(root.path) == 2.5);
}

TEST_CASE("version 1 under its full name, in a container that knows its group's name") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo", cpu_mount("/docker/x"));
    root.file("/proc/self/cgroup", "9:name=systemd:/docker/x\n3:cpu,cpuacct:/docker/x/inner\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n");
    CHECK(control_group_cores(root.path) == 1);
    CHECK(control_group_folders(root.path, "cpu").size() == 2);
    // Another container's groups are not this process's.
    root.file("/proc/self/mountinfo", cpu_mount("/docker/y"));
    CHECK(control_group_cores(root.path) == 0);
}

TEST_CASE("a namespace hides the names of groups, and a process may lie outside of what it shows") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo", cgroup2_at_usual_place);
    root.file("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    root.file("/proc/self/cgroup", "0::/\n");
    CHECK(control_group_cores(root.path) == 1);
    root.file("/proc/self/cgroup", "0::/../..\n");  // of the mount's own group nothing is shown
    CHECK(control_group_cores(root.path) == 0);
    root.file("/proc/self/mountinfo", cpu_mount("/../.."));
    root.file("/proc/self/cgroup", "3:cpu,cpuacct:/../..\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK(control_group_cores(root.path) == 3);
    std::filesystem::remove(root.path + "/proc/self/mountinfo");
    root.file("/proc/self/cgroup", "0::/../..\n");  // nobody says what the usual place shows
    CHECK(control_group_cores(root.path) == 1);
}

TEST_CASE("a process below a mount of unknown names is found by its number") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo", cpu_mount("/.."));
    root.file("/proc/self/cgroup", "3:cpu,cpuacct:/inner\n");
    root.file("/proc/self/stat", "4242 (lockstep) S 1\n");
    const std::string top = "/sys/fs/cgroup/cpu,cpuacct/";
    for (const std::string name : {"one", "two"}) {
        root.file(top + name + "/cpu.cfs_period_us", "100000\n");
        root.file(top + name + "/cpu.cfs_quota_us", name == "one" ? "100000\n" : "200000\n");
        root.file(top + name + "/inner/cgroup.procs", name == "one" ? "17\n" : "17\n4242\n");
    }
    CHECK(control_group_cores(root.path) == 2);
    root.file(top + "two/inner/cgroup.procs", "17\n");
    CHECK(control_group_cores(root.path) == 0);
}

TEST_CASE("a hybrid host has processor time in version 1 and nothing in version 2") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo",
              cpu_mount("/") +
                  "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
    root.file("/proc/self/cgroup", "1:cpu,cpuacct:/a\n0::/b\n");
    root.file("/sys/fs/cgroup/unified/b/cgroup.procs", "1\n");
    CHECK(control_group_cores(root.path) == 0);
    root.file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    root.file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    CHECK(control_group_cores(root.path) == 4);
    root.file("/sys/fs/cgroup/unified/b/cpu.max", "300000 100000\n");
    CHECK(control_group_cores(root.path) == 3);
}

TEST_CASE("what is absent, garbage or cannot be read is no limit") {
    const FakeRoot root;
    CHECK(cpu_groups(root.path).empty());
    CHECK(memory_groups(root.path).empty());
    root.file("/proc/self/mountinfo",
              "31 23 - \n\n31 23 0:28 / - cgroup2\n" + cgroup2_at_usual_place);
    for (const std::string line : {"", "0", "0:", "::", "0::", "\n\n", "4:cpu", ":::/a:b\n"}) {
        root.file("/proc/self/cgroup", line);
        CHECK(cpu_groups(root.path).empty());
    }
    root.file("/proc/self/cgroup", "0::/a\n");
    for (const std::string text : {"", "x", "100000", "1e5 100000", "-1 100000", "0 100000",
                                   "100000 0", "max", "99999999999999999999 1", "100000 x"}) {
        root.file("/sys/fs/cgroup/a/cpu.max", text);
        root.file("/sys/fs/cgroup/a/memory.max", text.substr(0, text.find(' ')) + "x");
        CAPTURE(text);
        CHECK(cpu_groups(root.path).empty());
        CHECK(memory_groups(root.path).empty());
    }
    std::filesystem::remove(root.path + "/sys/fs/cgroup/a/cpu.max");
    std::filesystem::create_directory(root.path + "/sys/fs/cgroup/a/cpu.max");  // not readable
    CHECK(cpu_groups(root.path).empty());
}

TEST_CASE("memory: what kills, what slows, what swaps and what is used") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo", cgroup2_at_usual_place);
    root.file("/proc/self/cgroup", "0::/job/step\n");
    root.file("/sys/fs/cgroup/job/memory.max", "4294967296\n");
    root.file("/sys/fs/cgroup/job/memory.swap.max", "0\n");
    root.file("/sys/fs/cgroup/job/memory.current", "1610612736\n");
    root.file("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 536870912\n");
    root.file("/sys/fs/cgroup/job/step/memory.max", "max\n");
    root.file("/sys/fs/cgroup/job/step/memory.high", "2147483648\n");
    const auto groups = memory_groups(root.path);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].bytes == unlimited);
    CHECK(groups[0].high == 2 * gib);
    CHECK(groups[0].swap == unlimited);
    CHECK(groups[1].folder == "/sys/fs/cgroup/job");
    CHECK(groups[1].bytes == 4 * gib);
    CHECK(groups[1].swap == 0);
    CHECK(groups[1].used == gib);
    CHECK(control_group_bytes(root.path) == 4 * gib);
    CHECK(control_group_free_bytes(root.path) == 3 * gib);
}

TEST_CASE("memory of version 1 limits memory and swap together") {
    const FakeRoot root;
    root.file("/proc/self/mountinfo",
              "35 31 0:32 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n");
    root.file("/proc/self/cgroup", "4:memory:/a\n");
    const std::string top = "/sys/fs/cgroup/my memory/";
    root.file(top + "memory.limit_in_bytes", "9223372036854771712\n");  // none
    root.file(top + "a/memory.limit_in_bytes", "1073741824\n");
    root.file(top + "a/memory.memsw.limit_in_bytes", "3221225472\n");
    const auto groups = memory_groups(root.path);
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].bytes == gib);
    CHECK(groups[0].swap == 2 * gib);
}
