// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/gpu_direct.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "launcher/host/core_binding.hpp"

namespace lockstep::launcher {

namespace {

namespace fs = std::filesystem;

// These are the kinds of path; the shortest comes first.
constexpr std::array kinds{"PIX", "PXB", "PHB", "NODE", "SYS"};

int node_of(const fs::path& device) {
    std::ifstream file(device / "numa_node");
    int node = -1;
    file >> node;
    return node;
}

// Compares the devices' paths in /sys, which list every bridge from the processor to the device:
// /sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0
std::size_t distance(const fs::path& gpu, const fs::path& network) {
    const std::vector<fs::path> a(gpu.begin(), gpu.end()), b(network.begin(), network.end());
    const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto root = std::find_if(
        a.begin(), end_a, [](const fs::path& part) { return part.string().starts_with("pci"); });
    if (root == end_a) return node_of(gpu) == node_of(network) ? 3 : 4;
    if (std::next(root) == end_a) return 2;  // they share no bridge
    const auto longest = std::max(std::distance(end_a, a.end()), std::distance(end_b, b.end()));
    return longest > 2 ? 1 : 0;  // two remaining parts: a port of the switch and the device itself
}

}  // namespace

std::string gpu_direct(const std::string& root) {
    for (const char* module : {"/sys/module/nvidia_peermem", "/sys/kernel/mm/memory_peers/nv_mem",
                               "/sys/kernel/mm/memory_peers/nv_mem_nc"}) {
        std::error_code none;
        if (fs::exists(root + module, none)) return "nvidia_peermem";
    }
    std::ifstream driver(root + "/proc/driver/nvidia/version");
    std::string line;
    std::getline(driver, line);
    return line.find("Open Kernel Module") == std::string::npos ? "none" : "DMA-BUF";
}

NetworkDevice nearest_network_device(const std::string& gpu_pci, const std::string& root) {
    std::error_code none;
    const fs::path gpu =
        fs::canonical(root + "/sys/bus/pci/devices/" + kernel_address(gpu_pci), none);
    if (none) return {};
    NetworkDevice nearest;
    std::size_t least = kinds.size();
    for (const auto& entry : fs::directory_iterator(root + "/sys/class/infiniband", none)) {
        const fs::path device = fs::canonical(entry.path() / "device", none);
        if (none) continue;
        const std::size_t here = distance(gpu, device);
        const std::string name = entry.path().filename();
        if (here > least || (here == least && name > nearest.name)) continue;
        least = here;
        nearest = {name, kinds[here]};
    }
    return nearest;
}

}  // namespace lockstep::launcher
