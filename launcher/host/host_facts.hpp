// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/text/units.hpp"

// These plain values describe a host: its limits, memory, processor, network interfaces and GPUs.
namespace lockstep::launcher {

struct Limits {  // limits of this process; `unlimited`: there is no limit
    std::int64_t open_files = unlimited, locked_bytes = unlimited, processes = unlimited,
                 core_bytes = unlimited;
};

struct Memory {
    std::int64_t bytes = 0, available_bytes = 0;           // the host's memory
    std::int64_t limit_bytes = unlimited;                  // the limit of the control group
    std::int64_t shared_bytes = 0, shared_free_bytes = 0;  // /dev/shm; 0: there is none
    std::int64_t limit_free_bytes = unlimited;             // what is left of the limit
    std::int64_t swap_bytes = 0;                           // the host's
};

struct Processor {
    std::string name;
    std::vector<std::string> instructions;  // a subset of avx2, avx512f, avx512_bf16, amx_bf16
    std::vector<int> cores;                 // the cores that this process is bound to
    double quota = 0;  // cores' worth of time of the control group; 0: no quota
};

struct Interface {
    std::string name;
    std::vector<std::string> addresses;
    std::int64_t mbit_per_s = 0;  // 0: the interface does not report its speed
};

struct Gpu {
    int index = 0;
    std::string name, uuid, pci;
    std::int64_t bytes = 0;
    std::vector<std::string> parts = {};  // UUIDs of the parts that MIG made of it
    // These name the nearest InfiniBand or RoCE device, and the kind of path to it (PIX to SYS).
    // Both are empty when there is none.
    std::string network = {}, network_path = {};
    int compute_capability = 0;  // 90 is 9.0; 0: not known
};

struct GpuLink {
    int first = 0, second = 0;  // indices
    std::string kind;           // nvidia-smi's words: NV4, PIX, PXB, PHB, NODE, SYS
    bool peer_access = true;    // each GPU can read and write the other's memory
};

// Lists all GPUs of a host, whether or not this process may use them.
struct GpuHost {
    std::string absent;  // why the GPUs could not be queried; empty: they were
    std::string driver, cuda;
    std::vector<Gpu> gpus;
    std::vector<GpuLink> links;
};

// These functions read what this host reports about itself. `root` is put before /proc and /sys;
// empty means the real ones.
Processor processor(const std::string& root = "");
Memory memory(const std::string& root = "");
std::vector<Interface> interfaces(const std::string& root = "");
std::int64_t infiniband_devices(const std::string& root = "");
// Tells whether the PCI bus shows a GPU of NVIDIA's, with a driver or without.
bool has_nvidia_gpu(const std::string& root = "");
Limits limits();

}  // namespace lockstep::launcher
