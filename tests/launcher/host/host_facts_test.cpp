// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/host_facts.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "launcher/host/control_group.hpp"
#include "launcher/host/gpu_direct.hpp"
#include "launcher/text/units.hpp"
#include "tests/launcher/host/fake_root.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::launcher;
using namespace lockstep::tests;

TEST_CASE("the processor's name and those of its instructions that matter") {
    const FakeRoot root;
    root.file("/proc/cpuinfo",
              "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx avx2 avx512f avx512_bf16 "
              "amx_bf16 amx_tile\n\nprocessor\t: 1\nflags\t\t: fpu\n");
    const Processor found = processor(root.path);
    CHECK(found.name == "Some CPU");
    CHECK(found.instructions ==
          std::vector<std::string>{"avx2", "avx512f", "avx512_bf16", "amx_bf16"});
    CHECK_FALSE(found.cores.empty());
}

TEST_CASE("control groups of version 2: the tightest limit on the way up counts") {
    const FakeRoot root;
    root.file("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    CHECK(control_group_bytes(root.path) == unlimited);
    root.file("/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    root.file("/sys/fs/cgroup/slurm/job_7/memory.max", "1073741824\n");
    root.file("/sys/fs/cgroup/slurm/memory.max", "4294967296\n");
    root.file("/sys/fs/cgroup/slurm/job_7/cpu.max", "150000 100000\n");
    root.file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK(control_group_bytes(root.path) == std::int64_t{1} << 30);
    CHECK(control_group_free_bytes(root.path) == std::int64_t{1} << 30);
    root.file("/sys/fs/cgroup/slurm/job_7/memory.current", "73741824\n");
    root.file("/sys/fs/cgroup/slurm/memory.current", "4194967296\n");  // by other jobs
    CHECK(control_group_free_bytes(root.path) == 100'000'000);
    CHECK(control_group_cores(root.path) == doctest::Approx(1.5));
}

TEST_CASE("control groups of version 1, and of a container that shows its own as the root") {
    const FakeRoot root;
    root.file("/proc/self/cgroup",
              "9:name=systemd:/\n4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n");
    root.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    root.file("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "50000\n");
    root.file("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
    CHECK(control_group_bytes(root.path) == 536'870'912);
    CHECK(control_group_cores(root.path) == doctest::Approx(0.5));
    root.file("/proc/meminfo", "MemTotal:  2097152 kB\nMemFree: 1 kB\nMemAvailable: 1048576 kB\n");
    const Memory found = memory(root.path);
    CHECK(found.bytes == std::int64_t{2} << 30);
    CHECK(found.available_bytes == std::int64_t{1} << 30);
    CHECK(found.limit_bytes == 536'870'912);
    root.file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "400000000\n");
    root.file("/sys/fs/cgroup/memory/memory.stat",
              "cache 150000000\ninactive_file 9\ntotal_inactive_file 100000000\n");
    CHECK(memory(root.path).limit_free_bytes == 236'870'912);  // kept files are given up
}

TEST_CASE("this machine's interfaces, with the speed that they say") {
    const FakeRoot root;
    root.file("/sys/class/net/lo/speed", "25000\n");
    root.file("/sys/class/infiniband/mlx5_0/node_guid", "0\n");
    bool loopback = false;
    for (const Interface& one : interfaces(root.path)) {
        if (one.name != "lo") continue;
        loopback = true;
        CHECK(one.addresses.front() == "127.0.0.1");
        CHECK(one.mbit_per_s == 25'000);
    }
    CHECK(loopback);
    CHECK(infiniband_devices(root.path) == 1);
}

TEST_CASE("how far the nearest network device is from a GPU, and what lets it reach the memory") {
    const FakeRoot root;
    CHECK(gpu_direct(root.path) == "none");
    CHECK(nearest_network_device("0000:1A:00.0", root.path).name.empty());
    const std::string devices = root.path + "/sys/devices/";
    const auto device = [&](const std::string& way, const std::string& link, const char* node) {
        root.file("/sys/devices/" + way + "/numa_node", node);
        const std::filesystem::path full = root.path + link;
        std::filesystem::create_directories(full.parent_path());
        std::filesystem::create_directory_symlink(devices + way, full);
    };
    const std::string behind_port = "pci0000:15/0000:15:01.0/", behind_switch = "0000:16:00.0/";
    device(behind_port + behind_switch + "0000:17:00.0/0000:1a:00.0",
           "/sys/bus/pci/devices/0000:1a:00.0", "0");
    const auto network = [&](const std::string& way, const std::string& name, const char* node) {
        device(way, "/sys/class/infiniband/" + name + "/device", node);
        const NetworkDevice found = nearest_network_device("00000000:1A:00.0", root.path);
        return found.name + " " + found.path;
    };
    CHECK(network("pci0000:80/0000:80:01.0/0000:81:00.0", "mlx5_9", "1") == "mlx5_9 SYS");
    CHECK(network("pci0000:30/0000:30:01.0/0000:31:00.0", "mlx5_8", "0") == "mlx5_8 NODE");
    CHECK(network("pci0000:15/0000:15:02.0/0000:20:00.0", "mlx5_7", "0") == "mlx5_7 PHB");
    CHECK(network(behind_port + "0000:18:00.0/0000:19:00.0/0000:1c:00.0", "mlx5_6", "0") ==
          "mlx5_6 PXB");
    CHECK(network(behind_port + behind_switch + "0000:17:01.0/0000:1b:00.0", "mlx5_5", "0") ==
          "mlx5_5 PIX");
    CHECK(network(behind_port + behind_switch + "0000:17:02.0/0000:1d:00.0", "mlx5_4", "0") ==
          "mlx5_4 PIX");  // of two alike the first

    root.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\n");
    CHECK(gpu_direct(root.path) == "none");
    root.file("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86\n");
    CHECK(gpu_direct(root.path) == "DMA-BUF");
    root.file("/sys/module/nvidia_peermem/version", "570.86\n");
    CHECK(gpu_direct(root.path) == "nvidia_peermem");
}

TEST_CASE("units for people") {
    CHECK(bytes_text(unlimited) == "unlimited");
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(bytes_text(std::int64_t{80} << 30) == "80 GiB");
    CHECK(rate_text(1.25e9) == "1.25 GB/s");
    CHECK(rate_text(117.6e6) == "118 MB/s");
    CHECK(seconds_text(0.00021) == "0.21 ms");
    CHECK(seconds_text(90) == "90 s");
}
