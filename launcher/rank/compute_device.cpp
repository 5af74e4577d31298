// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/compute_device.hpp"

#include <limits>
#include <vector>

#include "launcher/host/host_facts.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

void refuse_on_cpu(const RunConfig& config) {
    const auto refuse = [](const std::string& option, const std::string& instead) {
        throw Error(ErrorKind::config,
                    option + " is for GPUs, and this computes on the CPU; " + instead);
    };
    const bool asks = config.given.contains("fp16") || config.given.contains("precision");
    if (config.precision == PrecisionChoice::fp16 && asks)
        refuse("fp16", "--precision bf16 halves the work there");
    if (config.gpu.tf32) refuse("--tf32", "leave it out");
    if (config.gpu.autotune) refuse("--autotune", "leave it out");
    if (config.gpu.allow_shared) refuse("--allow-shared-gpu", "leave it out");
    if (config.gpu.graphs == GraphChoice::on) refuse("--cuda-graphs on", "leave it out");
    if (config.gpu.backend != GpuBackendChoice::automatic) refuse("--gpu-backend", "leave it out");
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    if (optimizer.offload == train::Offload::optimizer && optimizer.offload_dir.empty())
        refuse("--offload optimizer", "give --offload none, or --offload-dir DIR");
}

void refuse_on_gpu(const RunConfig& config) {
    if (config.train.optimizer.offload_dir.empty()) return;
    throw Error(ErrorKind::config,
                "--offload-dir is for CPUs, and this computes on a GPU; leave it out, so that the "
                "host's memory has what is offloaded");
}

SharedGpu sharing(const RunConfig& config) noexcept {
    return config.gpu.allow_shared ? SharedGpu::allowed : SharedGpu::refused;
}

Gpus gpus_for(const RunConfig& config) {
    return config.device == DeviceChoice::cpu ? Gpus{} : find_gpus();
}

std::string why_unusable(const Gpus& gpus) {
    if (gpus.build.version > 0 && gpus.driver > 0) {
        std::string too_old = device::why_driver_is_too_old(gpus.build, gpus.driver);
        if (!too_old.empty()) return too_old;
    }
    for (const device::GpuIdentity& gpu : gpus.visible) {
        if (gpus.build.version == 0) break;
        std::string other =
            device::why_not_compiled_for(gpus.build, gpu.name, gpu.compute_capability);
        if (!other.empty()) return other;
    }
    return gpus.products;
}

std::optional<GpuAssignment> choose_gpu(const RunConfig& config, const comm::RankInfo& rank_info,
                                        const Gpus& gpus) {
    const bool automatic = config.device == DeviceChoice::automatic;
    const bool on_cpu = config.device == DeviceChoice::cpu;
    const std::string unusable = on_cpu ? "" : why_unusable(gpus);
    if (on_cpu || (automatic && gpus.visible.empty() && unusable.empty())) {
        refuse_on_cpu(config);
        return std::nullopt;
    }
    if (!unusable.empty())
        throw Error(ErrorKind::config, "the GPUs of " + rank_info.host + " cannot compute: " +
                                           unusable + ", or give --device cpu");
    if (gpus.visible.empty())
        throw Error(ErrorKind::config, "--device cuda on " + rank_info.host + ": " + gpus.absent +
                                           ", or give --device cpu");
    refuse_on_gpu(config);
    const std::size_t number = assign_gpu(rank_info, gpus.visible.size(), sharing(config));
    return GpuAssignment{static_cast<int>(number), gpus.visible[number], gpus.visible.size(),
                         gpus.product_library};
}

std::string why_on_cpu(const RunConfig& config, const comm::RankInfo& rank_info, const Gpus& gpus,
                       const std::string& root) {
    const bool wanted = config.device == DeviceChoice::automatic && gpus.build.version > 0;
    if (!wanted || !gpus.visible.empty()) return "";
    // Nobody misses the driver of a GPU that is not there.
    if (gpus.driver == 0 && !has_nvidia_gpu(root)) return "";
    return "computing on the CPU of " + rank_info.host + ": no GPU is usable here (" + gpus.absent +
           ")";
}

namespace {

void require_all_or_none(std::uint64_t with, std::uint64_t size) {
    if (with == 0 || with == size) return;
    throw Error(ErrorKind::config,
                std::to_string(with) + " of " + std::to_string(size) +
                    " ranks see a GPU: give --device cuda to learn which do not, or --device cpu");
}

}  // namespace

GpuWorld agree_on_gpus(const RunConfig& config, const comm::RankInfo& rank_info,
                       const std::optional<GpuAssignment>& gpu, comm::Communicator& communicator) {
    std::vector<std::uint64_t> with{gpu ? 1u : 0u};
    communicator.all_reduce(view_of(with), comm::ReduceOp::sum, "devices");
    communicator.finish();
    const auto size = static_cast<std::uint64_t>(communicator.size());
    checked_alike(communicator, rank_info, [&] { require_all_or_none(with.front(), size); });
    if (!gpu || size == 1) return {};
    GpuUser own{rank_info.host, gpu->identity.uuid, gpu->identity.pci, gpu->identity.name};
    if (gpu->visible == 1) {
        const auto environment = comm::process_environment();
        const auto listed = environment.find("CUDA_VISIBLE_DEVICES");
        own.chosen = listed == environment.end() ? "all" : listed->second;
    }
    if (config.gpu.backend != GpuBackendChoice::staged) own.without_nccl = why_no_nccl();
    const std::vector<GpuUser> users = gather_gpu_users(communicator, own);
    return checked_alike(communicator, rank_info, [&] {
        return judge_gpu_users(users, sharing(config), config.gpu.backend);
    });
}

model::GpuSettings gpu_settings(const RunConfig& config, const std::optional<GpuAssignment>& gpu) {
    model::GpuSettings settings;
    if (gpu) settings.device = gpu->number;
    settings.master =
        config.gpu.fp16 == Fp16Kind::mem_efficient && config.precision == PrecisionChoice::fp16
            ? train::Master::none
        : !config.train.optimizer.offload_dir.empty()                 ? train::Master::stored
        : config.train.optimizer.offload == train::Offload::optimizer ? train::Master::offloaded
                                                                      : train::Master::kept;
    settings.tf32 = config.gpu.tf32;
    settings.autotune = config.gpu.autotune;
    settings.timeout_ms = config.comm.timeout_ms;
    if (config.gpu.graphs == GraphChoice::off) settings.max_graphs = 0;
    if (config.gpu.graphs == GraphChoice::on)
        settings.max_graphs = std::numeric_limits<std::size_t>::max();
    return settings;
}

train::Precision precision_of(PrecisionChoice choice, const std::optional<GpuAssignment>& gpu) {
    switch (choice) {
        case PrecisionChoice::fp32:
            return train::Precision::fp32;
        case PrecisionChoice::bf16:
            return train::Precision::bf16;
        case PrecisionChoice::fp16:  // the model was trained on a GPU
            if (gpu) return train::Precision::fp16;
            break;
        case PrecisionChoice::automatic:
            break;
    }
    return gpu || kernels::multiplies_bf16() ? train::Precision::bf16 : train::Precision::fp32;
}

std::vector<std::string> idle_options(const RunConfig& config, const ComputeDevice& device,
                                      int ranks) {
    if (!device.gpu) return {};
    std::vector<std::string> idle;
    if (config.gpu.tf32 && device.precision != train::Precision::fp32)
        idle.push_back("--tf32 has no effect: products are of " +
                       std::string(train::name(device.precision)) +
                       ", and it is for those of fp32: leave it out, or give --precision fp32");
    if (config.gpu.backend != GpuBackendChoice::automatic && ranks == 1)
        idle.push_back(
            "--gpu-backend has no effect: one rank exchanges no gradients: leave it out");
    return idle;
}

ComputeDevice lone_device(const RunConfig& config) {
    require_threads(config.threads);
    ComputeDevice device;
    device.gpu = choose_gpu(config, comm::alone(), gpus_for(config));
    device.precision = precision_of(config.precision, device.gpu);
    device.threads =
        config.threads > 0 ? static_cast<int>(config.threads) : within_thread_limit(usable_cores());
    device.settings = gpu_settings(config, device.gpu);
    device.settings.host_threads = device.threads;
    const auto idle = idle_options(config, device, 1);
    if (!idle.empty()) throw Error(ErrorKind::config, idle.front());
    return device;
}

std::unique_ptr<model::Model> make_model(const model::ModelConfig& config,
                                         const ComputeDevice& device,
                                         const model::RecomputePlan& plan,
                                         const train::ReplicaShare& share) {
    if (!device.gpu)
        return model::make_cpu_model(config, device.precision, device.threads, plan, share);
    model::GpuSettings settings = device.settings;
    settings.recompute = plan;
    settings.share = share;
    return make_gpu_model(config, device.precision, settings);
}

}  // namespace lockstep::launcher
