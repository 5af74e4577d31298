// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/facts_json.hpp"

#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Limits, open_files, locked_bytes, processes, core_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Memory, bytes, available_bytes, limit_bytes, shared_bytes,
                                   shared_free_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Processor, name, instructions, cores, quota)
NLOHMANN_JSON_SERIALIZE_ENUM(CoreLimit::Kind, {{CoreLimit::Kind::binding, "binding"},
                                               {CoreLimit::Kind::control_group, "control group"},
                                               {CoreLimit::Kind::slurm, "slurm"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CoreLimit, kind, cores, id)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Interface, name, addresses, mbit_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Gpu, index, name, uuid, pci, bytes, parts, network, network_path,
                                   compute_capability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuLink, first, second, kind, peer_access)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuHost, absent, driver, cuda, gpus, links)

}  // namespace lockstep::launcher

namespace lockstep::launcher::doctor {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Libraries, lockstep, products, mpi, nccl)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CudaPart, version, file, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuSoftware, build, targets, driver, cublas_lt, cudnn, nccl,
                                   glibc)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, local_rank, local_size, host, source, address,
                                   probe_port, threads, processor, core_limits, memory, limits,
                                   interfaces, infiniband_devices, gpu_direct, gpu_host,
                                   cuda_visible_devices, visible_gpus, libraries, software)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Lookup, host, addresses, name, name_addresses, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Probe, host, address, problem, round_trip_s, clock_ahead_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShardFacts, file, problem, missing, rows, rows_read, hash)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankObservations, rank, lookups, probes, data_problem, data_hash,
                                   data_warning, shards, folder_problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FolderFacts, path, existing, problem, free_bytes,
                                   checkpoints_bytes, write_bytes_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankEndpoint, rank, host, address, probe_port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, stands, token, trial_path, trial_text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairRate, first, second, link, all_reduce)

namespace {

nlohmann::json finding_json(const Finding& finding) {
    return {{"severity", name(finding.severity)},
            {"check", finding.check},
            {"where", finding.where},
            {"what", finding.what},
            {"advice", finding.advice}};
}

}  // namespace

std::string encode(const RankFacts& facts) { return dump_json(nlohmann::json(facts)); }
std::string encode(const RankObservations& sight) { return dump_json(nlohmann::json(sight)); }
std::string encode(const std::vector<PairRate>& rates) { return dump_json(nlohmann::json(rates)); }

std::string encode(const Plan& plan) { return dump_json(nlohmann::json(plan)); }

RankFacts decode_rank(const std::string& text) { return parse_json(text); }
Plan decode_plan(const std::string& text) { return parse_json(text); }
RankObservations decode_sight(const std::string& text) { return parse_json(text); }
std::vector<PairRate> decode_rates(const std::string& text) { return parse_json(text); }

std::string report_json(const Facts& facts, const std::vector<Finding>& findings) {
    nlohmann::json report{{"size", facts.size},
                          {"verdict", verdict(findings)},
                          {"would_break", would_break(findings)},
                          {"findings", nlohmann::json::array()},
                          {"ranks", facts.ranks},
                          {"sights", facts.sights},
                          {"data", facts.data},
                          {"folder", facts.folder},
                          {"training_bytes", facts.training_bytes},
                          {"gpu_bytes", facts.gpu_bytes},
                          {"shared",
                           {{"zero", facts.shared.stage},
                            {"ranks", facts.shared.ranks},
                            {"weights_bytes", facts.shared.weights_bytes},
                            {"gradients_bytes", facts.shared.gradients_bytes},
                            {"replicas_bytes", facts.shared.replicas_bytes}}},
                          {"pairs", facts.pairs},
                          {"ring", facts.ring},
                          {"not_measured", facts.not_measured}};
    for (const Finding& finding : findings) report["findings"].push_back(finding_json(finding));
    return dump_json(report, 2) + "\n";
}

}  // namespace lockstep::launcher::doctor
