// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "launcher/options/batching.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/options/stored_options.hpp"
#include "launcher/plan/fitting_command.hpp"
#include "launcher/plan/report.hpp"
#include "launcher/plan/report_json.hpp"
#include "launcher/programs/programs.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "lockstep plan [--data DIR] [-mf DIR] [--device cpu|cuda] [--memory 80GiB] [--fit auto]\n"
    "    [options]\n"
    "What a training run with these options takes of its device's memory, and the largest batches\n"
    "that fit, by a step that is gone through without being computed. Needs no such device, and\n"
    "without --data only the size of the dictionary. Exit code 1: it does not fit.\n";

constexpr int does_not_fit = 1;

std::optional<std::string> checkpoint_of(const RunConfig& config) {
    if (config.model_file.empty()) return std::nullopt;
    return train::choose_checkpoint(config.model_file, train::Verify::sizes).path;
}

// A run that goes on takes the options of its checkpoint, and so does its plan.
std::optional<RunConfig> parse(const std::vector<std::string>& args) {
    auto config = parse_run(Task::plan, usage, args);
    if (!config) return config;
    const auto checkpoint = checkpoint_of(*config);
    if (!checkpoint) {
        check_lanes(*config, static_cast<int>(std::max<std::int64_t>(config->world_size, 1) /
                                              train::ranks_of_place(config->train)));
        return config;
    }
    StoredOptions stored = stored_options(config->model_file, *checkpoint);
    const auto gone = [](const std::string& folder) { return !path_exists(folder); };
    if (std::ranges::any_of(stored.data, gone)) stored.data.clear();  // the plan may do without
    config = parse_run(Task::plan, usage, args, Ranks::any, [&] { return std::optional(stored); });
    // The lanes are the run's, also if there are more ranks now.
    if (config->batch.logical_shards <= 0) config->batch.logical_shards = stored.lanes;
    return config;
}

}  // namespace

int plan_program(const std::vector<std::string>& args) {
    const auto config = parse(args);
    if (!config) return 0;
    plan::RunPlan plan = plan::plan_run(*config);
    if (plan.fitted) plan.command = plan::fitting_command(config->lines, plan);
    std::cout << (config->json ? plan::report_json(plan) : plan::report_text(plan)) << std::flush;
    return plan.fits() ? 0 : does_not_fit;
}

}  // namespace lockstep::launcher
