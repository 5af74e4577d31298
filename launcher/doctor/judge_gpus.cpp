// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/gpu_of_rank.hpp"
#include "launcher/host/nvml.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Returns the identity of the device that the rank uses. Ranks may each have a MIG part of one GPU.
const std::string& own_uuid(const RankFacts& rank, const Gpu& gpu) {
    return rank.cuda_visible_devices.starts_with("MIG-") ? rank.cuda_visible_devices : gpu.uuid;
}

// Two ranks on one GPU have half of it each, and NCCL refuses them.
void judge_shared(const Facts& facts, Severity severity, std::vector<Finding>& found) {
    std::map<std::string, std::vector<int>> users;  // key: the UUID, unique across hosts
    std::map<std::string, std::string> names;
    for (const RankFacts& one : facts.ranks) {
        const Gpu* gpu = gpu_of_rank(one);
        if (gpu == nullptr) continue;
        const std::string& uuid = own_uuid(one, *gpu);
        users[uuid].push_back(one.rank);
        names[uuid] = "GPU " + std::to_string(gpu->index) + " (" + gpu->name + ", " + gpu->uuid +
                      ", " + gpu->pci + ")";
    }
    for (const auto& [uuid, ranks] : users) {
        if (ranks.size() < 2) continue;
        found.push_back({severity, "gpu", where(facts, ranks), "share " + names[uuid],
                         "one rank for each GPU: fewer ranks a host, or "
                         "--gpus-per-node N under srun"});
    }
}

// NCCL does not accept MIG parts of one GPU, so the run copies through the host's memory.
void judge_parts(const Facts& facts, std::vector<Finding>& found) {
    std::map<std::string, std::vector<int>> users;  // key: the GPU's own UUID
    std::map<std::string, std::set<std::string>> parts;
    for (const RankFacts& one : facts.ranks) {
        const Gpu* gpu = gpu_of_rank(one);
        if (gpu == nullptr) continue;
        users[gpu->uuid].push_back(one.rank);
        parts[gpu->uuid].insert(own_uuid(one, *gpu));
    }
    for (const auto& [uuid, ranks] : users)
        if (parts[uuid].size() > 1)
            found.push_back({Severity::warns, "gpu", where(facts, ranks),
                             "have parts of one GPU (" + uuid +
                                 "), between which gradients go through the host's memory, slowly",
                             "one rank for each GPU, or one rank alone on its part"});
}

void judge_unlike(const Facts& facts, std::vector<Finding>& found) {
    Grouped unlike(facts, Severity::warns, "gpu");
    std::string first;
    for (const RankFacts& one : facts.ranks) {
        const Gpu* gpu = gpu_of_rank(one);
        if (gpu == nullptr) continue;
        if (first.empty()) first = gpu->name;
        if (gpu->name != first)
            unlike.add(one.rank,
                       "has an " + gpu->name + ", others an " + first +
                           ": the slowest decides how long a step takes",
                       "choose hosts with the same GPUs (srun --constraint)");
    }
    append(found, unlike.findings());
}

void judge_nccl(const Facts& facts, std::vector<Finding>& found) {
    Grouped without(facts, Severity::warns, "gpu");
    for (const RankFacts& one : facts.ranks)
        if (facts.size > 1 && one.libraries.nccl == "none")
            without.add(one.rank,
                        "has no NCCL: all ranks' gradients go through the hosts' memory, slowly",
                        "install libnccl2, or name its folder in LD_LIBRARY_PATH");
    append(found, without.findings());
}

// NCCL uses GPUDirect over a path that crosses the processor only if told to.
void judge_gpu_direct(const Facts& facts, std::vector<Finding>& found) {
    Grouped without(facts, Severity::warns, "gpu"), far(facts, Severity::notes, "gpu");
    for (const RankFacts& one : facts.ranks) {
        const Gpu* gpu = gpu_of_rank(one);
        if (gpu == nullptr || gpu->network.empty() || one.local_size == facts.size) continue;
        const bool behind_switch = gpu->network_path == "PIX" || gpu->network_path == "PXB";
        if (one.gpu_direct == "none")
            without.add(one.rank,
                        "has no nvidia_peermem module, so that NCCL goes from host to host through "
                        "the host's memory",
                        "modprobe nvidia-peermem, or NVIDIA's open kernel modules");
        else if (!behind_switch)
            far.add(one.rank,
                    "its GPU is far from every network device (" + gpu->network + " is at " +
                        gpu->network_path + "), so that NCCL may not use GPUDirect",
                    "try NCCL_NET_GDR_LEVEL=SYS");
    }
    append(found, without.findings());
    append(found, far.findings());
}

// CUDA stops at the first entry that does not exist and reports nothing.
void judge_visible(const Facts& facts, Severity severity, std::vector<Finding>& found) {
    Grouped wrong(facts, severity, "gpu");
    for (const RankFacts& one : facts.ranks) {
        const std::string& text = one.cuda_visible_devices;
        const bool lists = text != all_devices && !text.empty() && text != "-1";
        const auto listed = static_cast<std::size_t>(std::count(text.begin(), text.end(), ',') + 1);
        if (!lists || !one.gpu_host.absent.empty() || one.visible_gpus.size() == listed) continue;
        wrong.add(one.rank,
                  "CUDA_VISIBLE_DEVICES=" + text + " names a GPU that is not there, so that " +
                      std::to_string(one.visible_gpus.size()) + " of " + std::to_string(listed) +
                      " are seen; the host has " + std::to_string(one.gpu_host.gpus.size()),
                  "correct or unset it");
    }
    append(found, wrong.findings());
}

// judge_software() tells of hosts without a driver.
void judge_missing(const Facts& facts, std::vector<Finding>& found) {
    Grouped none(facts, Severity::breaks, "gpu");
    for (const RankFacts& one : facts.ranks) {
        if (gpu_of_rank(one) != nullptr || one.gpu_host.driver.empty()) continue;
        none.add(one.rank,
                 "has no GPU of its own: " + std::to_string(one.visible_gpus.size()) +
                     " are visible to it, for " + std::to_string(one.local_size) +
                     " ranks on the host",
                 "one rank for each GPU: fewer ranks a host, or ask for more GPUs");
    }
    append(found, none.findings());
}

// Skips MIG parts because their size is not known.
void judge_room(const Facts& facts, std::vector<Finding>& found) {
    Grouped small(facts, Severity::breaks, "gpu");
    for (const RankFacts& one : facts.ranks) {
        const Gpu* gpu = gpu_of_rank(one);
        if (gpu == nullptr || !gpu->parts.empty() || facts.gpu_bytes <= gpu->bytes) continue;
        small.add(one.rank,
                  "training takes " + bytes_text(facts.gpu_bytes) + " of a GPU, and its own (" +
                      gpu->name + ") has " + bytes_text(gpu->bytes),
                  "lockstep plan says for what, and which --batchsize fits");
    }
    append(found, small.findings());
}

// NCCL copies through the host's memory when there is no peer access, which is several times
// slower.
void judge_peer_access(const Facts& facts, std::vector<Finding>& found) {
    std::set<std::pair<std::string, std::string>> told;
    for (const RankFacts& one : facts.ranks)
        for (const RankFacts& other : facts.ranks) {
            const Gpu *first = gpu_of_rank(one), *second = gpu_of_rank(other);
            if (one.host != other.host || first == nullptr || second == nullptr) continue;
            for (const GpuLink& link : one.gpu_host.links) {
                const std::string pair =
                    std::to_string(link.first) + " and " + std::to_string(link.second);
                if (link.peer_access || link.first != first->index ||
                    link.second != second->index || !told.insert({one.host, pair}).second)
                    continue;
                found.push_back(
                    {Severity::warns, "gpu", where(facts, {one.rank, other.rank}),
                     "GPUs " + pair + " (" + link.kind + ") cannot reach each other's memory",
                     "look at `nvidia-smi topo -p2p r`; ACS of the PCIe bridges or a "
                     "virtual machine forbids it"});
            }
        }
}

// A control group may show each rank only its own GPU. The rank then cannot access the other GPUs'
// memory, and NCCL copies through the host's memory or fails. NVML shows what the group allows.
void judge_hidden_peers(const Facts& facts, std::vector<Finding>& found) {
    std::map<std::string, std::vector<int>> lone;  // key: host; ranks that see one GPU
    std::map<std::string, std::set<std::string>> uuids;
    for (const RankFacts& one : facts.ranks) {
        if (one.gpu_host.gpus.size() != 1) continue;
        lone[one.host].push_back(one.rank);
        uuids[one.host].insert(one.gpu_host.gpus.front().uuid);
    }
    for (const auto& [host, ranks] : lone) {
        if (uuids[host].size() < 2) continue;
        found.push_back({Severity::warns, "gpu", where(facts, ranks),
                         "see one GPU each, and not each other's: NCCL cannot copy from GPU to GPU",
                         "ask Slurm for --gpus-per-node=N instead of --gpus-per-task, or give "
                         "--gpu-bind=none"});
    }
}

void note_unused(const Facts& facts, std::vector<Finding>& found) {
    std::set<std::string> told;
    for (const RankFacts& one : facts.ranks) {
        const auto count = one.gpu_host.gpus.size();
        if (count == 0 || !told.insert(one.host).second) continue;
        found.push_back({Severity::notes, "gpu", one.host,
                         "has " + std::to_string(count) + (count == 1 ? " GPU" : " GPUs") +
                             ", which this run does not use: it computes on the CPU",
                         ""});
    }
}

}  // namespace

std::vector<Finding> judge_gpus(const Facts& facts) {
    std::vector<Finding> found;
    const bool on_gpu = facts.computes == Computes::on_gpu;
    const Severity severity = on_gpu ? Severity::breaks : Severity::notes;
    judge_shared(facts, severity, found);
    judge_visible(facts, severity, found);
    if (on_gpu) {
        judge_missing(facts, found);
        judge_room(facts, found);
        judge_peer_access(facts, found);
        judge_hidden_peers(facts, found);
        judge_parts(facts, found);
        judge_unlike(facts, found);
        judge_nccl(facts, found);
        judge_gpu_direct(facts, found);
    } else {
        note_unused(facts, found);
    }
    return found;
}

}  // namespace lockstep::launcher::doctor
