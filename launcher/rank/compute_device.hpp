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
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/kernels/product_library.hpp"

namespace lockstep::launcher {

// Throws a config error when the CPU is requested together with options that only GPUs support.
void refuse_on_cpu(const RunConfig& config);
// Throws a config error for options that GPUs do not have.
void refuse_on_gpu(const RunConfig& config);

// Returns the GPUs, or none when --device requests the CPU, so that no driver is started.
Gpus gpus_for(const RunConfig& config);

// Returns why the existing GPUs cannot compute, and what to do: the driver is too old, a GPU is too
// old, or cuBLASLt is missing. The result is empty when they can compute or when there are none.
std::string why_unusable(const Gpus& gpus);

SharedGpu sharing(const RunConfig& config) noexcept;

// Chooses the rank's GPU according to --device; an empty result means the CPU. Throws a config
// error when a requested GPU is missing, when the existing GPUs cannot compute (so that nobody
// trains on the CPU without noticing), or when the CPU is requested together with options that only
// GPUs support.
std::optional<GpuAssignment> choose_gpu(const RunConfig& config, const comm::RankInfo& rank_info,
                                        const Gpus& gpus);

// Returns why the CPU computes although this program is built for GPUs, including the effect of
// --device cuda. The result is empty when the CPU was requested, when GPUs are visible, when the
// program has no CUDA, or when the host has neither a driver nor a GPU. `root` is put before /sys.
std::string why_on_cpu(const RunConfig& config, const comm::RankInfo& rank_info, const Gpus& gpus,
                       const std::string& root = "");

// Collective. Throws a config error on every rank when some ranks compute on GPUs and others do
// not, or when judge_gpu_users() throws.
GpuWorld agree_on_gpus(const RunConfig& config, const comm::RankInfo& rank_info,
                       const std::optional<GpuAssignment>& gpu, comm::Communicator& communicator);

// Describes the device that a rank computes on, and its settings.
struct ComputeDevice {
    std::optional<GpuAssignment> gpu;  // none: the CPU
    train::Precision precision = train::Precision::fp32;
    int threads = 1;
    std::string threads_from = {};  // what they were counted from; empty: --threads or the binding
    model::GpuSettings settings;    // settings of the GPU

    // Returns "cpu" or the GPU's name.
    std::string name() const { return gpu ? gpu->identity.name : "cpu"; }
    // Returns the library of the matrix products, with its version.
    std::string products() const { return gpu ? gpu->products : kernels::product_library(); }
};

model::GpuSettings gpu_settings(const RunConfig& config, const std::optional<GpuAssignment>& gpu);

// Returns the precision. If nothing was chosen, it is bf16 when the processor has bf16 products;
// GPUs have them.
train::Precision precision_of(PrecisionChoice choice, const std::optional<GpuAssignment>& gpu);

// Lists options for GPUs that have no effect on this device, with the reason. Each element is one
// line.
std::vector<std::string> idle_options(const RunConfig& config, const ComputeDevice& device,
                                      int ranks);

// Does all of the above for a program of one process. Throws a config error for idle options.
ComputeDevice lone_device(const RunConfig& config);

std::unique_ptr<model::Model> make_model(const model::ModelConfig& config,
                                         const ComputeDevice& device,
                                         const model::RecomputePlan& plan = {},
                                         const train::ReplicaShare& share = {});

}  // namespace lockstep::launcher
