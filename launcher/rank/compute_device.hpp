// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/host/gpus.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/gpu_assignment.hpp"
#include "launcher/rank/gpu_world.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/kernels/product_library.hpp"

namespace lockstep::launcher {

// The GPU that a rank takes.
struct GpuAssignment {
    int number = 0;  // among those that the process sees
    device::GpuIdentity identity;
    std::size_t visible = 1;    // how many those are
    std::string products = "";  // the library that computes them, and its version
};

// Throws a config error where the CPU is asked for what GPUs alone can do.
void refuse_on_cpu(const RunConfig& config);

// None where --device asks for the CPU, so that no driver is woken.
Gpus gpus_for(const RunConfig& config);

// Why GPUs that are there cannot compute, and what to do: the driver is too old, a GPU is, or
// cuBLASLt is missing. Empty: they can, or there are none.
std::string why_unusable(const Gpus& gpus);

SharedGpu sharing(const RunConfig& config) noexcept;

// By --device; empty: the CPU. Throws a config error where the GPU that was asked for is not there,
// where those that are there cannot compute, so that nobody waits for a CPU unawares, or where the
// CPU is asked for what GPUs alone can do.
std::optional<GpuAssignment> choose_gpu(const RunConfig& config, const comm::RankInfo& place,
                                        const Gpus& gpus);

// Why the CPU computes though this program is built for GPUs, with what --device cuda would do:
// empty where it was asked for, where GPUs are visible, or where the program has no CUDA.
std::string why_on_cpu(const RunConfig& config, const comm::RankInfo& place, const Gpus& gpus);

// Collective. Throws a config error on every rank where some compute on GPUs and others do not, or
// where judge_gpu_users() does.
GpuWorld agree_on_gpus(const RunConfig& config, const comm::RankInfo& place,
                       const std::optional<GpuAssignment>& seat, comm::Communicator& communicator);

// What a rank computes on, and how.
struct ComputeDevice {
    std::optional<GpuAssignment> gpu;  // none: the CPU
    train::Precision precision = train::Precision::fp32;
    int threads = 1;
    model::GpuSettings settings;  // of the GPU

    // "cpu", or the GPU's name
    std::string name() const { return gpu ? gpu->identity.name : "cpu"; }
    // The library of the matrix products, and its version
    std::string products() const { return gpu ? gpu->products : kernels::product_library(); }
};

model::GpuSettings gpu_settings(const RunConfig& config, const std::optional<GpuAssignment>& seat);

// The processor's own products of bf16 decide where nothing was chosen; GPUs have them.
train::Precision precision_of(PrecisionChoice choice, const std::optional<GpuAssignment>& seat);

// Lists what was asked of a GPU and has no effect on it, with the reason, line by line.
std::vector<std::string> idle_options(const RunConfig& config, const ComputeDevice& device,
                                      int ranks);

// For a program of one process: all of the above. Throws a config error for idle options.
ComputeDevice lone_device(const RunConfig& config);

std::unique_ptr<model::DeviceModel> make_model(const model::ModelConfig& config,
                                               const ComputeDevice& device);

}  // namespace lockstep::launcher
