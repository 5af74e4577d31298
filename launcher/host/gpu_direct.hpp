// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Names the mechanism through which InfiniBand and RoCE devices reach GPU memory: "nvidia_peermem",
// "DMA-BUF" (which NVIDIA's open kernel modules offer) or "none". `root` is put before /proc and
// /sys.
std::string gpu_direct(const std::string& root = "");

// Describes the network device that is nearest to a GPU, and the kind of path to it in the words of
// `nvidia-smi topo -m`: PIX crosses one PCIe switch, PXB crosses several, PHB, NODE and SYS cross
// the processor.
struct NetworkDevice {
    std::string name;  // "mlx5_0"; empty: there is none
    std::string path;
};
NetworkDevice nearest_network_device(const std::string& gpu_pci, const std::string& root = "");

}  // namespace lockstep::launcher
