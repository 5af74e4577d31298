// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/planned_device.hpp"

#include <algorithm>

#include "launcher/host/host_facts.hpp"
#include "launcher/rank/compute_device.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::plan {

namespace {

PlannedDevice cpu(const RunConfig& config, int ranks) {
    refuse_on_cpu(config);
    PlannedDevice device;
    device.name = "the CPU";
    const Memory memory = launcher::memory();
    const bool limited = memory.limit_bytes != unlimited;
    device.bytes = host_bytes_of_rank(ranks);
    device.free_bytes = memory.available_bytes;
    if (limited) device.free_bytes = std::min(device.free_bytes, memory.limit_free_bytes);
    device.free_bytes /= ranks;
    device.limit = limited ? "that the control group allows" : "of this host";
    if (ranks > 1) device.limit += ", shared by " + std::to_string(ranks) + " ranks";
    return device;
}

PlannedDevice gpu(const RunConfig& config) {
    refuse_on_gpu(config);
    const Gpus gpus = find_gpus();
    PlannedDevice device;
    device.kind = model::DeviceKind::gpu;
    device.name = "a GPU";
    if (!gpus.visible.empty()) {
        device.name = gpus.visible.front().name;
        device.bytes = static_cast<std::int64_t>(gpus.visible.front().bytes);
        device.limit = "of the GPU";
        if (config.memory_bytes < 0) device.free_bytes = free_gpu_bytes(0);
    } else if (config.memory_bytes < 0) {
        throw Error(ErrorKind::config, "--device cuda: " + gpus.absent +
                                           ", or name the memory of the GPU that is meant, say "
                                           "--memory 80GiB");
    }
    return device;
}

}  // namespace

std::int64_t host_bytes_of_rank(int ranks) {
    const Memory memory = launcher::memory();
    return (memory.limit_bytes != unlimited ? memory.limit_bytes : memory.bytes) / ranks;
}

PlannedDevice planned_device(const RunConfig& config, int ranks) {
    const bool on_gpu = config.device == DeviceChoice::cuda ||
                        (config.device == DeviceChoice::automatic && !find_gpus().visible.empty());
    const auto nodes = static_cast<int>(std::max<std::int64_t>(config.nodes, 1));
    PlannedDevice device = on_gpu ? gpu(config) : cpu(config, std::max(1, ranks / nodes));
    if (config.memory_bytes < 0) return device;
    device.bytes = config.memory_bytes;
    device.limit = "given by --memory";
    device.free_bytes = unlimited;
    return device;
}

}  // namespace lockstep::launcher::plan
