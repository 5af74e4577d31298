// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/report_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"
#include "launcher/text/text_table.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Shows the links between GPUs as rows, in the form of `nvidia-smi topo -m`.
std::string link_matrix(const GpuHost& host) {
    TextTable table;
    std::vector<std::string> heading{""};
    for (const Gpu& gpu : host.gpus) heading.push_back("GPU" + std::to_string(gpu.index));
    table.add(heading);
    for (const Gpu& row : host.gpus) {
        std::vector<std::string> cells{"GPU" + std::to_string(row.index)};
        for (const Gpu& column : host.gpus) {
            const auto link =
                std::find_if(host.links.begin(), host.links.end(), [&](const GpuLink& one) {
                    return std::minmax(one.first, one.second) ==
                           std::minmax(row.index, column.index);
                });
            cells.push_back(row.index == column.index  ? "X"
                            : link == host.links.end() ? "?"
                                                       : link->kind);
        }
        table.add(cells);
    }
    return table.text();
}

// A difference that is smaller than the round-trip time cannot be measured.
std::string clock_text(const Probe& probe) {
    const double ahead_s = probe.clock_ahead_s;
    if (std::abs(ahead_s) <= probe.round_trip_s) return "the same";
    return (ahead_s < 0 ? "" : "+") + seconds_text(ahead_s);
}

std::string pair_text(const Facts& facts, const PairRate& pair) {
    const std::string a = host_of(facts, pair.first), b = host_of(facts, pair.second);
    const bool one_host = a == b;
    const double share = pair.link > 0 ? 100 * pair.all_reduce / pair.link : 0;
    return "  " +
           (one_host ? "rank " + std::to_string(pair.first) + " - " + std::to_string(pair.second) +
                           " on " + a
                     : a + " - " + b) +
           ": " + rate_text(pair.all_reduce) + ", " + digits(share) + " % of " +
           rate_text(pair.link) + (one_host ? " (a copy in memory)\n" : " (plain TCP)\n");
}

}  // namespace

std::string gpu_lines(const Facts& facts) {
    std::map<std::string, std::vector<std::string>> without;  // hosts; the key is the reason
    std::string text;
    for (const HostGroup& host : hosts_of(stands_of(facts.ranks))) {
        const GpuHost& gpus = find_rank(facts, host.leader())->gpu_host;
        if (!gpus.absent.empty()) {
            without[gpus.absent].push_back(host.name);
            continue;
        }
        text += "GPUs of " + host.name + ": " + std::to_string(gpus.gpus.size()) + "\n";
        for (const Gpu& gpu : gpus.gpus) {
            text += "  " + std::to_string(gpu.index) + " " + gpu.name + ", " +
                    bytes_text(gpu.bytes) + ", " + gpu.uuid + ", " + gpu.pci +
                    (gpu.network.empty() ? "" : ", " + gpu.network + " " + gpu.network_path) + "\n";
        }
        if (gpus.gpus.size() > 1) text += link_matrix(gpus);
    }
    for (const auto& [why, hosts] : without)
        text += "GPUs of " + joined(hosts) + ": none (" + why + ")\n";
    return text;
}

std::string network_lines(const Facts& facts) {
    TextTable table;
    bool any = false;
    table.add({"from", "to", "address", "name of it", "reached in", "clock there"});
    for (const RankObservations& sight : facts.sights) {
        for (const Probe& probe : sight.probes) {
            const auto lookup =
                std::find_if(sight.lookups.begin(), sight.lookups.end(),
                             [&](const Lookup& one) { return one.host == probe.host; });
            const bool reached = probe.problem.empty();
            const bool has_name = lookup != sight.lookups.end() && !lookup->name.empty();
            table.add({host_of(facts, sight.rank), probe.host, probe.address,
                       has_name ? lookup->name : "none",
                       reached ? seconds_text(probe.round_trip_s) : "not reached",
                       reached ? clock_text(probe) : ""});
            any = true;
        }
    }
    return any ? "network\n" + table.text() : "";
}

std::string rate_lines(const Facts& facts) {
    if (!facts.not_measured.empty())
        return "all-reduce: not measured, " + facts.not_measured + "\n";
    std::string text = "all-reduce\n";
    for (const PairRate& pair : facts.pairs) text += pair_text(facts, pair);
    return text + "  ring of all ranks: " + rate_text(facts.ring) + " over each link\n";
}

}  // namespace lockstep::launcher::doctor
