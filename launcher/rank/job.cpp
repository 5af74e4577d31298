// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/job.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>
#include <vector>

#include "launcher/host/core_binding.hpp"
#include "launcher/rank/given_secret.hpp"
#include "launcher/rank/same_options.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "launcher/rank/wait_notice.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/environment/network_interface.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Ranks on different machines must compute in the same precision, so one rank without bf16 products
// decides for all.
train::Precision agree_on_precision(PrecisionChoice choice, const std::optional<GpuAssignment>& gpu,
                                    comm::Communicator& communicator) {
    const train::Precision own = precision_of(choice, gpu);
    const bool fp16_without_gpu = choice == PrecisionChoice::fp16 && !gpu;
    if (choice != PrecisionChoice::automatic && !fp16_without_gpu) return own;
    std::vector<std::uint64_t> able{own == train::Precision::bf16 ? 1u : 0u};
    communicator.all_reduce(view_of(able), comm::ReduceOp::min, "precision");
    communicator.finish();
    return able.front() == 1 ? train::Precision::bf16 : train::Precision::fp32;
}

comm::CommOptions comm_options(const RunConfig& config) {
    comm::CommOptions options = config.comm;
    options.secret = given_secret(config);
    return options;
}

comm::MetRanks meet(const RunConfig& config, const comm::RankInfo& rank_info) {
    if (rank_info.local_rank_known) return {rank_info, nullptr};
    const WaitNotice notice(rank_info);
    return comm::meet_ranks(rank_info, comm_options(config));
}

std::unique_ptr<comm::Communicator> join_met(const RunConfig& config, const comm::MetRanks& met) {
    const WaitNotice notice(met.rank_info);
    auto communicator = comm::make_communicator(met, comm_options(config));
    require_same_options(*communicator, met.rank_info, config.compared);
    return communicator;
}

// Binds the process to the cores near its GPU, and returns what limits its cores. The binding comes
// before other threads exist, because they inherit it. Only the thread of a store in which ranks
// have met exists already, and it reads no environment.
std::vector<CoreLimit> bind_near(const std::optional<GpuAssignment>& gpu) {
    std::vector<CoreLimit> limits = core_limits(comm::process_environment());
    if (!gpu) return limits;
    bind_to_cores(cores_to_use(bound_cores(), cores_near(gpu->identity.pci)));
    limits.front() = binding_limit(comm::host_name(), bound_cores());
    return limits;
}

}  // namespace

comm::RankInfo rank_info_of(const RunConfig& config, LaunchMode mode) {
    if (mode == LaunchMode::alone) return comm::alone();
    comm::RankFlags flags;
    if (config.rank >= 0) {
        flags.rank = static_cast<int>(config.rank);
        if (config.world_size > 0) flags.size = static_cast<int>(config.world_size);
    }
    if (config.local_rank >= 0) flags.local_rank = static_cast<int>(config.local_rank);
    if (config.master_port > 0) flags.master_port = static_cast<int>(config.master_port);
    if (!config.master_addr.empty()) flags.master_addr = config.master_addr;
    comm::RankInfo rank_info = comm::find_rank_info(comm::process_environment(), flags);
    if (config.world_size > 0 && config.world_size != rank_info.size) {
        throw Error(ErrorKind::config,
                    "--distributed-world-size " + std::to_string(config.world_size) + ": " +
                        comm::name(rank_info.source) + " started " +
                        std::to_string(rank_info.size) + "; leave the option out");
    }
    return rank_info;
}

std::unique_ptr<comm::Communicator> connect(const RunConfig& config,
                                            const comm::RankInfo& rank_info) {
    return join_met(config, meet(config, rank_info));
}

Job join_job(const RunConfig& launch, const comm::RankInfo& told, const SharedConfig& shared) {
    require_threads(launch.threads);
    const Gpus gpus = gpus_for(launch);
    comm::tell_nccl(launch.comm.interface);
    const comm::MetRanks met = meet(launch, told);
    const comm::RankInfo& rank_info = met.rank_info;
    const auto gpu = choose_gpu(launch, rank_info, gpus);
    const std::vector<CoreLimit> limits = bind_near(gpu);
    Job job;
    job.rank_info = rank_info;
    if (gpu && rank_info.size > 1 && launch.verbose) job.nccl_log = NcclLog::begin();
    job.communicator = join_met(launch, met);
    const RunConfig& config = shared ? shared(*job.communicator) : launch;
    ComputeDevice& device = job.device;
    GpuWorld world = agree_on_gpus(config, rank_info, gpu, *job.communicator);
    if (!gpu)  // no rank has one; a checkpoint's options count, too
        checked_alike(*job.communicator, rank_info, [&] { refuse_on_cpu(config); });
    job.notes = std::move(world.notes);
    if (const std::string why = why_on_cpu(config, rank_info, gpus); !why.empty())
        job.notes.push_back(why);
    const ThreadShare share = share_of_cores(limits, *job.communicator);
    device.gpu = gpu;
    device.threads = config.threads > 0 ? static_cast<int>(config.threads) : share.threads;
    // multiprocessing_train gives its ranks --threads, by the same count.
    if (is_counted_from(share, device.threads)) device.threads_from = counted_from(share);
    device.precision = agree_on_precision(config.precision, gpu, *job.communicator);
    device.settings = gpu_settings(config, gpu);
    device.settings.backend = world.backend;
    device.settings.host_threads = device.threads;
    std::ranges::move(idle_options(config, device, rank_info.size), std::back_inserter(job.notes));
    return job;
}

int run_started(const comm::RankInfo& rank_info, const std::function<void()>& work) {
    try {
        work();
        return 0;
    } catch (const Error& e) {
        if (e.kind() == ErrorKind::config) throw;
        std::cerr << rank_name(rank_info) + ": " + e.what() + "\n" << std::flush;
        return e.kind() == ErrorKind::peer ? 3 : 1;
    }
}

std::string rank_name(const comm::RankInfo& rank_info) {
    return "rank " + std::to_string(rank_info.rank) + " on " + rank_info.host;
}

Verbosity verbosity_of(const RunConfig& config) {
    if (config.verbose) return Verbosity::verbose;
    return config.quiet ? Verbosity::quiet : Verbosity::normal;
}

}  // namespace lockstep::launcher
