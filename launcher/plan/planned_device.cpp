// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/planned_device.hpp"

#include <algorithm>

#include "launcher/host/host_facts.hpp"
#include "launcher/rank/compute_device.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::plan {

namespace {

Machine cpu(const RunConfig& config, int ranks) {
    refuse_on_cpu(config);
    Machine machine;
    machine.name = "the CPU";
    const Memory memory = launcher::memory();
    const bool limited = memory.limit_bytes != unlimited;
    machine.bytes = host_bytes_of_rank(ranks);
    machine.free_bytes = memory.available_bytes;
    if (limited) machine.free_bytes = std::min(machine.free_bytes, memory.limit_free_bytes);
    machine.free_bytes /= ranks;
    machine.limit = limited ? "that the control group allows" : "of this host";
    if (ranks > 1) machine.limit += ", shared by " + std::to_string(ranks) + " ranks";
    return machine;
}

Machine gpu(const RunConfig& config) {
    const Gpus gpus = find_gpus();
    Machine machine;
    machine.device = model::DeviceKind::gpu;
    machine.name = "a GPU";
    if (!gpus.visible.empty()) {
        machine.name = gpus.visible.front().name;
        machine.bytes = static_cast<std::int64_t>(gpus.visible.front().bytes);
        machine.limit = "of the GPU";
        if (config.memory_bytes < 0) machine.free_bytes = free_gpu_bytes(0);
    } else if (config.memory_bytes < 0) {
        throw Error(ErrorKind::config, "--device cuda: " + gpus.absent +
                                           ", or name the memory of the GPU that is meant, say "
                                           "--memory 80GiB");
    }
    return machine;
}

}  // namespace

std::int64_t host_bytes_of_rank(int ranks) {
    const Memory memory = launcher::memory();
    return (memory.limit_bytes != unlimited ? memory.limit_bytes : memory.bytes) / ranks;
}

Machine machine_of(const RunConfig& config, int ranks) {
    const bool on_gpu = config.device == DeviceChoice::cuda ||
                        (config.device == DeviceChoice::automatic && !find_gpus().visible.empty());
    Machine machine = on_gpu ? gpu(config) : cpu(config, ranks);
    if (config.memory_bytes < 0) return machine;
    machine.bytes = config.memory_bytes;
    machine.limit = "given by --memory";
    machine.free_bytes = unlimited;
    return machine;
}

}  // namespace lockstep::launcher::plan
