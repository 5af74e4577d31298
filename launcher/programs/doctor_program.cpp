// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <optional>
#include <set>

#include "launcher/doctor/examination.hpp"
#include "launcher/doctor/facts_json.hpp"
#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/gpu_software.hpp"
#include "launcher/doctor/probes/probe.hpp"
#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "launcher/doctor/rank_facts.hpp"
#include "launcher/doctor/report.hpp"
#include "launcher/model_folder/checkpoint_size.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/memory_options.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/given_secret.hpp"
#include "launcher/rank/job.hpp"
#include "model/blocks/layout.hpp"
#include "model/devices/gpu_heads.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/optim/state_bytes.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "[srun|mpirun|distributed_launch ...] lockstep doctor [--data DIR] [-mf DIR] [options]\n"
    "Checks ranks, hosts, network, GPUs, data and output folder, alone or as every rank of a job,\n"
    "in seconds. Takes the options of the training run that is meant. Exit code 1: it would "
    "fail.\n";

constexpr int would_fail = 1;

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

// Ignores the error here: every host reports it when it reads the data.
std::optional<data::Dataset> opened(const std::string& folder) {
    try {
        return data::Dataset::open(folder);
    } catch (const Error&) {
        return std::nullopt;
    }
}

// Adds the memory that `lockstep plan` calculates, within a time limit. Errors are ignored here
// because reading the data reports them.
void add_memory(const RunConfig& config, int ranks, doctor::Request& request) {
    RunConfig asked = config;
    const bool on_gpu = request.computes == doctor::Computes::on_gpu;
    asked.device = on_gpu ? DeviceChoice::cuda : DeviceChoice::cpu;
    asked.memory_bytes = 0;  // no GPU of this host counts: the ranks' own memory is compared
    asked.world_size = ranks;
    using Planned = std::optional<plan::RunPlan>;
    const auto planned = doctor::run_with_timeout(request.check_time(), [asked]() -> Planned {
        try {
            return plan::plan_run(asked, plan::Scope::first_epoch);
        } catch (const Error&) {
            return std::nullopt;
        }
    });
    if (!planned || !*planned) return;
    const plan::RunPlan& plan = **planned;
    request.training_bytes = on_gpu ? plan.host_bytes + plan.pinned_bytes : plan.certain_bytes();
    request.gpu_bytes = on_gpu ? plan.certain_bytes() : 0;
    request.shared.weights_bytes = plan.sent.weights;
    request.shared.gradients_bytes = plan.sent.gradients;
    request.shared.replicas_bytes = plan.sent.replicas;
}

// Adds the needs of the run as far as its options tell.
void add_needs(const RunConfig& config, int ranks, doctor::Request& request) {
    if (config.data.empty()) return;
    using Model = std::optional<model::ModelConfig>;
    const auto looked = doctor::run_with_timeout(request.check_time(), [config]() -> Model {
        const auto dataset = opened(config.data.front());
        if (!dataset) return std::nullopt;
        return agree_on_model({config.model_file}, config.model, config.given, *dataset);
    });
    const Model model = looked.value_or(std::nullopt);
    if (!model) return;
    if (config.recompute) model::require_layers(*config.recompute, *model);
    const auto table = model::parameter_table(*model);
    const std::size_t weights = table.flat_size();
    const std::size_t optimizer = train::state_bytes(config.train.optimizer, table);
    request.checkpoints_bytes =
        static_cast<std::int64_t>(bytes_of_checkpoints(weights, optimizer, config.train.keep));
    add_memory(config, ranks, request);
    if (config.precision != PrecisionChoice::fp32) request.slow_shapes = slow_shapes(*model);
    if (request.computes == doctor::Computes::on_gpu) model::require_gpu_heads(*model);
}

// A folder that cannot be read in time counts as one with a checkpoint.
bool begins_a_run(const RunConfig& config, std::chrono::milliseconds longest) {
    if (config.model_file.empty()) return true;
    const auto empty = doctor::run_with_timeout(longest, [config] {
        try {
            return !train::choose_checkpoint(config.model_file, train::Verify::sizes).path;
        } catch (const Error&) {
            return false;
        }
    });
    return empty.value_or(false);
}

doctor::Computes computes_on(const RunConfig& config, std::chrono::milliseconds longest) {
    if (config.device == DeviceChoice::cuda) return doctor::Computes::on_gpu;
    // A driver with problems may never answer.
    const auto gpus = doctor::run_with_timeout(longest, [config] { return gpus_for(config); });
    const bool there = gpus && (!gpus->visible.empty() || !why_unusable(*gpus).empty());
    return there ? doctor::Computes::on_gpu : doctor::Computes::on_cpu;
}

doctor::Request request_of(const RunConfig& config, const comm::RankInfo& rank_info) {
    doctor::Request request;
    if (!config.data.empty()) request.data = config.data.front();
    request.model_folder = config.model_file;
    request.threads = config.threads;
    request.timeout = milliseconds_of(config.timeout_s);
    request.computes = computes_on(config, request.check_time());
    request.read_for = milliseconds_of(config.data_seconds);
    request.comm = config.comm;
    request.comm.secret = given_secret(config);
    if (rank_info.rank != 0) return request;
    try {
        if (request.computes == doctor::Computes::on_cpu) refuse_on_cpu(config);
        const int of_place = train::ranks_of_place(config.train);
        if (rank_info.size % of_place != 0)
            throw Error(ErrorKind::config,
                        (config.train.pipeline > 1 ? "--pipeline " : "--tensor ") +
                            std::to_string(of_place) + ": does not divide the " +
                            std::to_string(rank_info.size) + " ranks");
        check_zero_ranks(config.train.zero, rank_info.size / of_place);
        if (begins_a_run(config, request.check_time()))
            check_lanes(config, rank_info.size / of_place);
        request.shared.stage = config.train.zero.stage;
        request.shared.ranks = train::sharing_ranks(config.train.zero, rank_info.size / of_place);
        add_needs(config, rank_info.size, request);
    } catch (const Error& error) {
        request.problem = error.what();
    }
    return request;
}

// Reports what GPUs need on this host, independently of any run.
int preflight(const std::set<std::string>& given) {
    for (const std::string& name : given)
        if (name != "preflight")
            throw Error(ErrorKind::config,
                        "--preflight looks at this host alone: leave --" + name + " out");
    doctor::Request request;
    doctor::Facts facts;
    facts.computes = request.computes = doctor::Computes::on_gpu;
    facts.ranks = {doctor::rank_facts(comm::alone(), request)};
    const std::string& host = facts.ranks.front().host;
    std::vector<doctor::Finding> findings = doctor::judge_gpus(facts);
    for (doctor::Finding& one : findings) one.where = host;
    // The text is written in one piece because tasks on other hosts may write to the same output.
    std::string text = "GPUs of " + host + "\n\n" +
                       doctor::software_table(doctor::software_rows(facts.ranks.front())) + "\n" +
                       doctor::finding_lines(findings);
    doctor::append(findings, doctor::judge_software(facts));
    std::cout << text + "verdict of " + host + ": " + doctor::verdict(findings) + "\n"
              << std::flush;
    return doctor::would_break(findings) ? would_fail : 0;
}

// Tells where the secret of the ranks comes from, in one line; empty for a single rank.
std::string secret_line(const RunConfig& config, const comm::RankInfo& rank_info,
                        const comm::Secret& given) {
    if (rank_info.size == 1) return "";
    const std::string begin = "secret: ";
    if (!config.secret_file.empty()) return begin + "from --secret-file\n";
    if (!given.empty())
        return begin + "from " + comm::Secret::variable + ", which the user or the launcher set\n";
    if (rank_info.source == comm::RankSource::mpi && config.comm.backend != comm::Backend::gloo)
        return begin + "not needed, because MPI joins the ranks\n";
    return begin + "made by rank 0 and handed over by " + comm::envelope_of(rank_info)->name() +
           "\n";
}

// Reports why this rank cannot meet the others, and what its host sees of rank 0.
int cannot_meet(const comm::RankInfo& rank_info, const doctor::Request& request,
                const Error& error) {
    std::string text = "lockstep doctor: PROBLEM [meeting] " + rank_name(rank_info) +
                       ": cannot meet the other ranks: " + error.what();
    if (rank_info.rank != 0 && !rank_info.master_addr.empty()) {
        const int check_ms = static_cast<int>(request.check_time().count());
        const std::string why =
            doctor::unreachable(rank_info.master_addr, rank_info.master_port, check_ms);
        if (!why.empty()) text += "; seen from " + rank_info.host + ": " + why;
    }
    std::cerr << text + "\n" << std::flush;
    return would_fail;
}

}  // namespace

int doctor_program(const std::vector<std::string>& args) {
    const auto config = parse_run(Task::doctor, usage, args);
    if (!config) return 0;
    if (config->preflight) return preflight(config->given);
    const comm::RankInfo rank_info = rank_info_of(*config, LaunchMode::in_job);
    require_secret(*config, rank_info);
    const doctor::Request request = request_of(*config, rank_info);
    try {
        const auto facts = doctor::examine(rank_info, request);
        if (!facts) return 0;
        const auto findings = doctor::judge(*facts);
        std::string text = config->json ? doctor::report_json(*facts, findings)
                                        : doctor::report_text(*facts, findings);
        if (!config->json)
            text.insert(text.find('\n') + 1, secret_line(*config, rank_info, request.comm.secret));
        std::cout << (config->json ? text : printable_lines(text)) << std::flush;
        return doctor::would_break(findings) ? would_fail : 0;
    } catch (const Error& error) {
        return cannot_meet(rank_info, request, error);
    }
}

}  // namespace lockstep::launcher
