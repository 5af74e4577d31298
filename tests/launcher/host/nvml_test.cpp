// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/nvml.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "launcher/doctor/report_network.hpp"
#include "tests/launcher/doctor/sound_facts.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

GpuHost fake(const char* behaviour) {
    setenv("FAKE_NVML", behaviour, 1);
    return gpu_host(std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                    "libfake_nvml.so");
}

std::string shown(const GpuHost& host) {
    Facts facts = sound_facts(1, 1);
    facts.ranks[0].gpu_host = host;
    return gpu_lines(facts);
}

}  // namespace

TEST_CASE("GPUs with their links, as nvidia-smi topo -m names them") {
    const GpuHost host = fake("linked");
    CHECK(host.absent.empty());
    CHECK(host.driver == "550.54.15");
    CHECK(host.cuda == "12.4");
    CHECK(host.gpus[0].compute_capability == 90);
    CHECK(shown(host) ==
          "GPUs of n1: 4\n"
          "  0 NVIDIA H100 80GB HBM3, 80 GiB, GPU-0a1b2c3d, 00000000:17:00.0\n"
          "  1 NVIDIA H100 80GB HBM3, 80 GiB, GPU-1a1b2c3d, 00000000:18:00.0\n"
          "  2 NVIDIA H100 80GB HBM3, 80 GiB, GPU-2a1b2c3d, 00000000:19:00.0\n"
          "  3 NVIDIA H100 80GB HBM3, 80 GiB, GPU-3a1b2c3d, 00000000:1A:00.0\n"
          "        GPU0  GPU1  GPU2  GPU3\n"
          "  GPU0  X     NV2   PIX   SYS\n"
          "  GPU1  NV2   X     PHB   SYS\n"
          "  GPU2  PIX   PHB   X     SYS\n"
          "  GPU3  SYS   SYS   SYS   X\n");
}

TEST_CASE("GPUs that reach each other's memory, and those that do not") {
    for (const GpuLink& link : fake("linked").links) CHECK(link.peer_access == (link.second != 3));
}

TEST_CASE("GPUs behind an NVLink switch") {
    const GpuHost host = fake("switched");
    REQUIRE(host.links.size() == 6);
    for (const GpuLink& link : host.links) CHECK(link.kind == "NV18");
}

TEST_CASE("a driver that is not there, or does not answer, is said in one line") {
    const ScratchFolder root;
    const auto without_driver = [&] {
        return shown(gpu_host("libno-such-library.so.1", root / ""));
    };
    CHECK(without_driver() == "GPUs of n1: none (no NVIDIA GPU on the PCI bus)\n");
    const std::string device = root / "sys/bus/pci/devices/0000:17:00.0";
    std::filesystem::create_directories(device);
    write_text(device + "/vendor", "0x10de\n");
    write_text(device + "/class", "0x040300\n");  // sound
    CHECK(without_driver() == "GPUs of n1: none (no NVIDIA GPU on the PCI bus)\n");
    write_text(device + "/class", "0x030200\n");
    CHECK(without_driver() ==
          "GPUs of n1: none (no NVIDIA driver: libno-such-library.so.1 is not there)\n");
    write_text(device + "/vendor", "0x1002\n");  // another maker's
    CHECK(without_driver() == "GPUs of n1: none (no NVIDIA GPU on the PCI bus)\n");
    CHECK(shown(fake("broken")) ==
          "GPUs of n1: none (the GPU driver does not answer: Driver Not Loaded)\n");
}

TEST_CASE("CUDA_VISIBLE_DEVICES as CUDA reads it") {
    const GpuHost host = fake("linked");
    using List = std::vector<int>;
    CHECK(visible_gpus(host, all_devices) == List{0, 1, 2, 3});
    CHECK(visible_gpus(host, "2,0") == List{2, 0});
    CHECK(visible_gpus(host, "GPU-3a,GPU-1a1b2c3d") == List{3, 1});
    CHECK(visible_gpus(host, "1,7,2") == List{1});
    CHECK(visible_gpus(host, "MIG-5f00") == List{2});
    CHECK(visible_gpus(host, "MIG-GPU-1a1b2c3d/1/0") == List{1});
    CHECK(visible_gpus(host, "MIG-6f00").empty());
    CHECK(visible_gpus(host, "").empty());
    CHECK(visible_gpus(host, "-1").empty());
    CHECK(visible_gpus(host, "NoDevFiles").empty());
}
