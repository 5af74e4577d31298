// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/report.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/gpu_of_rank.hpp"
#include "launcher/doctor/gpu_software.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"
#include "launcher/doctor/report_network.hpp"
#include "launcher/host/nvml.hpp"
#include "launcher/text/text_table.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::launcher::doctor {

namespace {

std::string memory_text(const Memory& memory) {
    const std::string limit =
        memory.limit_bytes == unlimited ? "" : ", limit " + bytes_text(memory.limit_bytes);
    return bytes_text(memory.available_bytes) + " of " + bytes_text(memory.bytes) + limit;
}

std::string gpu_text(const RankFacts& rank) {
    const Gpu* gpu = gpu_of_rank(rank);
    if (gpu == nullptr) return "none";
    return std::to_string(gpu->index) + " " + gpu->name + " " + gpu->uuid + " " + gpu->pci;
}

// Describes a host by the facts of its lowest rank. Findings report limits that differ between its
// ranks.
std::string host_text(const Facts& facts, const RankFacts& one) {
    const Processor& p = one.processor;
    const std::string instructions =
        p.instructions.empty() ? "none of AVX2 to AMX" : joined(p.instructions);
    const bool gpus = facts.computes == Computes::on_gpu || one.gpu_host.absent.empty();
    return "  processor  " + p.name + "; " + instructions +
           (p.quota > 0 ? "; time of " + digits(p.quota) + " cores" : "") + "\n  /dev/shm   " +
           bytes_text(one.memory.shared_free_bytes) + " of " + bytes_text(one.memory.shared_bytes) +
           " free\n  limits     open files " + count_text(one.limits.open_files) +
           ", locked memory " + bytes_text(one.limits.locked_bytes) + ", processes " +
           count_text(one.limits.processes) + ", core file " + bytes_text(one.limits.core_bytes) +
           "\n  versions   Lockstep " + one.libraries.lockstep + ", " + one.libraries.products +
           ", MPI " + one.libraries.mpi + "\n" + (gpus ? software_table(software_rows(one)) : "");
}

std::string title(const Facts& facts) {
    const auto hosts = std::ssize(hosts_of(stands_of(facts.ranks)));
    std::string source = facts.ranks.empty() ? "nobody" : facts.ranks.front().source;
    if (source == comm::name(comm::RankSource::torchrun)) source += " or distributed_launch";
    return "lockstep doctor: " + counted(facts.size, "rank", "ranks") + " on " +
           counted(hosts, "host", "hosts") + ", placed by " + source + "\n";
}

const char* shown(Severity severity) {
    switch (severity) {
        case Severity::breaks:
            return "PROBLEM";
        case Severity::warns:
            return "warning";
        case Severity::notes:
            return "note";
    }
    return "";
}

}  // namespace

std::string rank_table(const Facts& facts) {
    constexpr int max_runs = 4;
    const auto threads = threads_of(facts);
    TextTable table;
    table.add({"rank", "host", "local", "placed by", "bound to cores", "threads", "memory free",
               "visible GPUs", "GPU"});
    for (std::size_t i = 0; i < facts.ranks.size(); ++i) {
        const RankFacts& one = facts.ranks[i];
        const auto& cores = one.processor.cores;
        table.add(
            {std::to_string(one.rank), one.host,
             std::to_string(one.local_rank) + "/" + std::to_string(one.local_size), one.source,
             comm::short_list(cores, max_runs) + " (" + std::to_string(cores.size()) + ")",
             std::to_string(threads[i]), memory_text(one.memory),
             one.cuda_visible_devices.empty() ? "\"\"" : one.cuda_visible_devices, gpu_text(one)});
    }
    return table.text();
}

std::string host_lines(const Facts& facts) {
    // Hosts with the same text share their lines.
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;
    for (const HostGroup& host : hosts_of(stands_of(facts.ranks))) {
        const std::string text = host_text(facts, *find_rank(facts, host.leader()));
        const auto found = std::find_if(groups.begin(), groups.end(),
                                        [&](const auto& group) { return group.first == text; });
        if (found == groups.end()) {
            groups.push_back({text, {host.name}});
        } else {
            found->second.push_back(host.name);
        }
    }
    std::string lines;
    for (const auto& [text, hosts] : groups)
        lines += (hosts.size() == 1 ? "host " : "hosts ") + joined(hosts) + "\n" + text;
    return lines;
}

// Says how the ranks share replicas; empty if each has its own.
std::string group_lines(const Facts& facts) {
    const SharedReplicas& shared = facts.shared;
    if (shared.ranks < 2) return "";
    const int replicas = facts.size / shared.ranks;
    std::string text =
        "groups: " +
        (replicas == 1 ? std::string("one replica") : std::to_string(replicas) + " replicas") +
        " of " + std::to_string(shared.ranks) + " ranks (--zero " + std::to_string(shared.stage) +
        ")";
    if (shared.gradients_bytes == 0) return text + "\n";
    text += "; in a step a rank sends " + bytes_text(shared.weights_bytes) + " of weights and " +
            bytes_text(shared.gradients_bytes) + " of gradients to those that share with it";
    if (shared.replicas_bytes > 0)
        text += ", and " + bytes_text(shared.replicas_bytes) + " of gradients between replicas";
    return text + "\n";
}

std::string storage_lines(const Facts& facts) {
    std::string text;
    const FolderFacts& folder = facts.folder;
    if (!folder.path.empty() && folder.problem.empty()) {
        text += "output folder " + folder.existing + ": " + bytes_text(folder.free_bytes) +
                " free, written at " + rate_text(folder.write_bytes_per_s) +
                (folder.checkpoints_bytes > 0
                     ? "; the checkpoints take " + bytes_text(folder.checkpoints_bytes)
                     : "") +
                "\n";
    }
    if (facts.data.empty()) return text;
    std::int64_t rows = 0, read = 0;
    std::int64_t shards = 0;
    for (const RankObservations& sight : facts.sights) {
        for (const ShardFacts& shard : sight.shards) {
            ++shards;
            rows += shard.rows;
            read += shard.rows_read;
        }
    }
    return text + "data " + facts.data + ": " + counted(shards, "shard", "shards") +
           " opened over all hosts, " + std::to_string(read) + " of " + std::to_string(rows) +
           " rows read" + (read < rows ? " (--data-seconds reads more)" : "") + "\n";
}

std::string finding_lines(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& one : findings) {
        text += std::string(shown(one.severity)) + " [" + one.check + "] " + one.where + ": " +
                one.what + (one.advice.empty() ? "" : "; " + one.advice) + "\n";
    }
    return text;
}

std::string report_text(const Facts& facts, const std::vector<Finding>& findings) {
    return title(facts) + "\n" + rank_table(facts) + "\n" + host_lines(facts) + gpu_lines(facts) +
           network_lines(facts) + rate_lines(facts) + group_lines(facts) + storage_lines(facts) +
           "\n" + finding_lines(findings) + "verdict: " + verdict(findings) + "\n";
}

}  // namespace lockstep::launcher::doctor
