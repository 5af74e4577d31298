// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// What lets InfiniBand's and RoCE's devices reach GPUs' memory: "nvidia_peermem", "DMA-BUF" (which
// NVIDIA's open kernel modules offer), or "none". `root` goes before /proc and /sys.
std::string gpu_direct(const std::string& root = "");

// The network device that is nearest to a GPU, and how far it is, as `nvidia-smi topo -m` would
// say: PIX behind one PCIe switch, PXB behind several, PHB, NODE or SYS across the processor.
struct NetworkDevice {
    std::string name;  // "mlx5_0"; empty: there is none
    std::string path;
};
NetworkDevice nearest_network_device(const std::string& gpu_pci, const std::string& root = "");

}  // namespace lockstep::launcher
