// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/text/units.hpp"

// A host's limits, memory, processor, network interfaces and GPUs, as plain values.
namespace lockstep::launcher {

struct Limits {  // of this process; `unlimited` where there is none
    std::int64_t open_files = unlimited, locked_bytes = unlimited, processes = unlimited,
                 core_bytes = unlimited;
};

struct Memory {
    std::int64_t bytes = 0, available_bytes = 0;           // of the host
    std::int64_t limit_bytes = unlimited;                  // of the control group
    std::int64_t shared_bytes = 0, shared_free_bytes = 0;  // /dev/shm; 0: there is none
};

struct Processor {
    std::string name;
    std::vector<std::string> instructions;  // of avx2, avx512f, avx512_bf16, amx_bf16
    std::vector<int> cores;                 // to which this process is bound
    double quota = 0;  // cores' worth of time of the control group; 0: no quota
};

struct Interface {
    std::string name;
    std::vector<std::string> addresses;
    std::int64_t mbit_per_s = 0;  // 0: it does not say
};

struct Gpu {
    int index = 0;
    std::string name, uuid, pci;
    std::int64_t bytes = 0;
    std::vector<std::string> parts = {};  // UUIDs of what MIG has cut it into
    // The nearest device of InfiniBand or RoCE, and how far it is (PIX to SYS); empty: there is
    // none.
    std::string network = {}, network_path = {};
    int compute_capability = 0;  // 90 is 9.0; 0: not known
};

struct GpuLink {
    int first = 0, second = 0;  // indices
    std::string kind;           // as `nvidia-smi topo -m` names it: NV4, PIX, PXB, PHB, NODE, SYS
    bool peer_access = true;    // each reads and writes the other's memory
};

// The GPUs of a host, whoever may use them.
struct GpuHost {
    std::string absent;  // why nothing is known of any; empty: known
    std::string driver, cuda;
    std::vector<Gpu> gpus;
    std::vector<GpuLink> links;
};

}  // namespace lockstep::launcher
