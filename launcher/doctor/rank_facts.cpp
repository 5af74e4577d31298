// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/rank_facts.hpp"

#include "launcher/doctor/gpu_software.hpp"
#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "launcher/host/gpu_direct.hpp"
#include "launcher/host/gpus.hpp"
#include "launcher/host/host_facts.hpp"
#include "launcher/host/nvml.hpp"
#include "launcher/host/shared_library.hpp"
#include "launcher/version.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/kernels/product_library.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Asks CUDA itself when its management library is missing. A run needs no more.
GpuHost seen_by_cuda(const Gpus& gpus, const std::string& absent) {
    GpuHost host;
    host.driver = "of unknown version (" + absent + ")";
    host.cuda = device::cuda_version_text(gpus.driver);
    for (const device::GpuIdentity& gpu : gpus.visible) {
        Gpu one{static_cast<int>(host.gpus.size()), gpu.name, gpu.uuid, gpu.pci,
                static_cast<std::int64_t>(gpu.bytes)};
        one.compute_capability = gpu.compute_capability;
        host.gpus.push_back(one);
    }
    return host;
}

GpuHost answering_gpu_host(std::chrono::milliseconds longest) {
    // A driver with problems may never answer.
    const auto found = run_with_timeout(longest, [] { return gpu_host(); });
    if (found) return *found;
    GpuHost host;
    host.absent = "the GPU driver does not answer: nvidia-smi hangs as well?";
    return host;
}

// Opening gigabytes of libraries over a file server may take long, so they stay closed when nobody
// asks for a GPU.
GpuSoftware answering_software(const GpuHost& host, const Request& request) {
    if (request.computes == Computes::on_cpu && !host.absent.empty()) return {};
    const auto found = run_with_timeout(request.timeout, [host] { return gpu_software(host); });
    return found.value_or(GpuSoftware{});
}

}  // namespace

RankFacts rank_facts(const comm::RankInfo& rank_info, const Request& request) {
    RankFacts facts;
    facts.rank = rank_info.rank;
    facts.local_rank = rank_info.local_rank;
    facts.local_size = rank_info.local_size;
    facts.host = rank_info.host;
    facts.source = comm::name(rank_info.source);
    facts.threads = request.threads;
    facts.processor = processor();
    facts.core_limits = core_limits(comm::process_environment());
    facts.core_limits.erase(facts.core_limits.begin());
    facts.memory = memory();
    facts.limits = limits();
    facts.interfaces = interfaces();
    facts.infiniband_devices = infiniband_devices();
    facts.gpu_direct = gpu_direct();
    facts.gpu_host = answering_gpu_host(request.check_time());
    for (Gpu& gpu : facts.gpu_host.gpus) {
        const NetworkDevice nearest = nearest_network_device(gpu.pci);
        gpu.network = nearest.name;
        gpu.network_path = nearest.path;
    }
    const comm::Environment environment = comm::process_environment();
    const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
    facts.cuda_visible_devices = visible == environment.end() ? all_devices : visible->second;
    facts.visible_gpus = visible_gpus(facts.gpu_host, facts.cuda_visible_devices);
    if (request.computes == Computes::on_gpu && !facts.gpu_host.absent.empty()) {
        const auto gpus = run_with_timeout(request.check_time(), [] { return find_gpus(); });
        if (gpus && !gpus->visible.empty()) {
            facts.gpu_host = seen_by_cuda(*gpus, facts.gpu_host.absent);
            for (const Gpu& gpu : facts.gpu_host.gpus) facts.visible_gpus.push_back(gpu.index);
        }
    }
    facts.software = answering_software(facts.gpu_host, request);
    const std::string& nccl = facts.software.nccl.version;
    facts.libraries = {version, kernels::product_library(), mpi_version(),
                       nccl.empty() ? "none" : nccl};
    return facts;
}

}  // namespace lockstep::launcher::doctor
