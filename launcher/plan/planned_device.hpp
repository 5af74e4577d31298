// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/text/units.hpp"
#include "model/devices/dry_model.hpp"

namespace lockstep::launcher::plan {

// Describes the device that a run is planned for.
struct PlannedDevice {
    model::DeviceKind kind = model::DeviceKind::cpu;
    std::string name;                     // "the CPU", "a GPU", or the GPU's name
    std::int64_t bytes = 0;               // memory that one rank may take
    std::string limit;                    // the source of `bytes`, such as "given by --memory"
    std::int64_t free_bytes = unlimited;  // what is free of `bytes` now; unlimited: not known
};

// Returns the device that --device and --memory describe. Ranks on the CPU share the memory of
// this host. Throws a config error when a requested GPU is neither present nor described by
// --memory, and when the CPU is requested for something that only GPUs support.
PlannedDevice planned_device(const RunConfig& config, int ranks);

// Returns the memory that each of `ranks` ranks on this host may take.
std::int64_t host_bytes_of_rank(int ranks);

}  // namespace lockstep::launcher::plan
