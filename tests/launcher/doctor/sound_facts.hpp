// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::tests {

using namespace lockstep::launcher;
using namespace lockstep::launcher::doctor;

inline std::string uuid_of(const std::string& host, int index) {
    return "GPU-" + host + "-" + std::to_string(index);
}

inline GpuHost sound_gpus(const std::string& host, int count) {
    GpuHost gpus{"", "550.54", "12.4", {}, {}};
    for (int i = 0; i < count; ++i) {
        Gpu& gpu = gpus.gpus.emplace_back();
        gpu.index = i;
        gpu.name = "H100";
        gpu.uuid = uuid_of(host, i);
        gpu.pci = "00000000:0" + std::to_string(i) + ":00.0";
        gpu.bytes = std::int64_t{80} << 30;
        gpu.compute_capability = 90;
    }
    return gpus;
}

inline RankFacts sound_rank(int rank, int ranks_per_host) {
    RankFacts one;
    const int node = rank / ranks_per_host + 1;
    one.rank = rank;
    one.local_rank = rank % ranks_per_host;
    one.local_size = ranks_per_host;
    one.host = "n" + std::to_string(node);
    one.source = "slurm";
    one.address = "10.0.0." + std::to_string(node);
    one.processor = {"CPU", {"avx2"}, {2 * one.local_rank, 2 * one.local_rank + 1}, 0};
    one.memory = {std::int64_t{64} << 30, std::int64_t{60} << 30, unlimited, std::int64_t{1} << 30,
                  std::int64_t{1} << 30};
    one.limits.open_files = 65'536;
    one.interfaces = {{"lo", {"127.0.0.1", "::1"}, 0}, {"eth0", {one.address}, 10'000}};
    one.gpu_host = sound_gpus(one.host, ranks_per_host);
    one.cuda_visible_devices = "all";
    for (int i = 0; i < ranks_per_host; ++i) one.visible_gpus.push_back(i);
    one.libraries = {"0.1.0", "oneDNN 2.6.3 avx2", "Open MPI v4.1.4", "2.19.3"};
    one.software = {12040,
                    "80 90a-real",
                    12040,
                    {"12.4.5", "libcublasLt.so.12", ""},
                    {"9.19.0", "libcudnn.so.9", ""},
                    {"2.19.3", "libnccl.so.2", ""},
                    "2.31"};
    return one;
}

// Returns what the lowest rank of a host observes.
inline RankObservations sound_sight(const Facts& facts, const RankFacts& from) {
    RankObservations sight;
    sight.rank = from.rank;
    sight.data_hash = "1";
    sight.shards = {{"train-00000-of-00001.h5", "", false, 10, 10, "2"}};
    for (const RankFacts& other : facts.ranks) {
        if (other.local_rank != 0) continue;
        sight.lookups.push_back({other.host, {other.address}, other.host, {other.address}, ""});
        if (other.host != from.host)
            sight.probes.push_back({other.host, other.address, "", 1e-4, 1e-4});
    }
    return sight;
}

// Hosts n1, n2, ... on which nothing is wrong, for runs on GPUs.
inline Facts sound_facts(int hosts = 2, int ranks_per_host = 2) {
    Facts facts;
    facts.size = hosts * ranks_per_host;
    facts.data = "data";
    facts.folder = {"model", "/shared", "", std::int64_t{1} << 40, std::int64_t{1} << 30, 1e9};
    facts.training_bytes = std::int64_t{1} << 30;
    facts.computes = Computes::on_gpu;
    for (int rank = 0; rank < facts.size; ++rank)
        facts.ranks.push_back(sound_rank(rank, ranks_per_host));
    for (int host = 0; host < hosts; ++host) {
        const RankFacts& leader = facts.ranks[static_cast<std::size_t>(host * ranks_per_host)];
        facts.sights.push_back(sound_sight(facts, leader));
        for (int other = host + 1; other < hosts; ++other)
            facts.pairs.push_back({leader.rank, other * ranks_per_host, 1.1e9, 1e9});
    }
    facts.ring = 0.9e9;
    return facts;
}

inline std::string text_of(const Finding& one) {
    return std::string(name(one.severity)) + " " + one.where + ": " + one.what + "; " + one.advice;
}

inline std::string text_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& one : findings) text += text_of(one) + "\n";
    return text;
}

}  // namespace lockstep::tests
