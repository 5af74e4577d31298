// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fitting_command.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/command_line/command_line.hpp"
#include "launcher/text/shell_word.hpp"

namespace lockstep::launcher::plan {

namespace {

// Options of a plan alone.
constexpr std::array<std::string_view, 4> of_plan{"fit", "json", "memory", "vocabulary"};
// Options of a job, with which `lockstep submit` starts the ranks.
constexpr std::array<std::string_view, 3> of_job{"nodes", "gpus-per-node", "ntasks-per-node"};
constexpr std::array<std::string_view, 4> ends_run{"num-epochs", "max-train-steps",
                                                   "max-train-time", "validation-patience"};

// A plan needs neither folder; the run needs both.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> stand_ins{
    {{"data", "DATA"}, {"model-file", "MODEL"}}};

// An option whose value the plan has chosen.
struct Chosen {
    std::string_view name, other_name;  // other_name: an option with the same meaning, or empty
    std::string value;
    bool is_default;
};

std::vector<Chosen> chosen(const RunPlan& plan) {
    const bool waits = plan.saving == train::Saving::training_waits;
    return {{"moments", "", train::name(plan.moments), plan.moments == train::Moments::fp32},
            {"zero", "ddp-backend", std::to_string(plan.stage), plan.stage == 0},
            {"offload", "", train::name(plan.offload), plan.offload == train::Offload::none},
            {"async-save", "", waits ? "false" : "true", !waits},
            {"recompute", "checkpoint-activations", model::name(plan.recompute),
             plan.recompute == model::RecomputePlan{}}};
}

using Options = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const Options& options, std::string_view name) {
    std::string found;
    for (const auto& [option, value] : options)
        if (option == name) found = value;
    return found;
}

// A plan of several hosts is started by Slurm, whose options it has then.
std::string starting_words(const Options& options, int ranks) {
    const std::string nodes = value_of(options, "nodes");
    const std::string world = value_of(options, "distributed-world-size");
    if (nodes.empty() || nodes == "1") {
        if (ranks == 1) return "lockstep train";
        const bool by_job = !value_of(options, "gpus-per-node").empty() ||
                            !value_of(options, "ntasks-per-node").empty();
        return "multiprocessing_train" + (by_job && world.empty()
                                              ? " --distributed-world-size " + std::to_string(ranks)
                                              : std::string());
    }
    std::string words = "lockstep submit";
    bool counted = false;
    for (const std::string_view name : of_job) {
        const std::string value = value_of(options, name);
        if (value.empty()) continue;
        words += " --" + std::string(name) + " " + shell_word(value);
        counted = counted || name != "nodes";
    }
    const int hosts = std::max(1, std::atoi(nodes.c_str()));
    if (!counted) words += " --ntasks-per-node " + std::to_string(ranks / hosts);
    return words + " -- distributed_train";
}

template <class Names>
bool contains(const Names& names, std::string_view name) {
    return std::ranges::find(names, name) != std::ranges::end(names);
}

}  // namespace

// A value that the plan has chosen is also written if it is the default but the words, which may be
// those of a checkpoint, say another one.
std::string fitting_command(const std::string& lines, const RunPlan& plan) {
    const Options options = dumped_options(lines);
    std::string command = starting_words(options, plan.ranks);
    const bool submits = command.starts_with("lockstep submit");
    std::vector<std::string_view> given;
    for (const auto& [name, value] : options) given.push_back(name);
    for (const auto& [name, stand_in] : stand_ins)
        if (!contains(given, name))
            command += " --" + std::string(name) + " " + std::string(stand_in);
    const auto choices = chosen(plan);
    const auto is_chosen = [&](std::string_view name) {
        return std::ranges::any_of(choices, [&](const Chosen& choice) {
            return name == choice.name || name == choice.other_name;
        });
    };
    std::string last;
    for (const auto& [name, value] : options) {
        if (contains(of_plan, name) || contains(of_job, name) || is_chosen(name)) continue;
        if (submits && name == "distributed-world-size") continue;
        if (name != last) command += " --" + name;
        command += " " + shell_word(value);
        last = name;
    }
    for (const Chosen& choice : choices)
        if (!choice.is_default || contains(given, choice.name) ||
            contains(given, choice.other_name))
            command += " --" + std::string(choice.name) + " " + choice.value;
    if (std::ranges::none_of(ends_run, [&](auto name) { return contains(given, name); }))
        command += " --num-epochs N";
    return command;
}

}  // namespace lockstep::launcher::plan
