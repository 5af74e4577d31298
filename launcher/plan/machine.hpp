// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/options/run_config.hpp"
#include "model/devices/dry_model.hpp"

namespace lockstep::launcher::plan {

// The device that a run is planned for.
struct Machine {
    model::DeviceKind device = model::DeviceKind::cpu;
    std::string name;        // "CPU", or the GPU's
    std::int64_t bytes = 0;  // that a rank may take
    std::string limit;       // what says so: "--memory", "of the host"
};

// By --device and --memory; ranks on the CPU share the memory of this host. Throws a config error
// where a GPU is asked for that is neither here nor described by --memory, or the CPU for what GPUs
// alone can do.
Machine machine_of(const RunConfig& config, int ranks);

}  // namespace lockstep::launcher::plan
