// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fitting_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "launcher/options/command_line.hpp"
#include "launcher/text/shell_word.hpp"

namespace lockstep::launcher::plan {

namespace {

// Options of a plan alone, and those whose values the plan has chosen.
constexpr std::array<std::string_view, 6> replaced{"fit",        "json",    "memory",
                                                   "vocabulary", "moments", "recompute"};

// A plan needs neither folder; the run needs both.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> stand_ins{
    {{"data", "DATA"}, {"model-file", "MODEL"}}};

}  // namespace

std::string fitting_command(const std::string& lines, const RunPlan& plan) {
    std::string command = plan.ranks > 1 ? "multiprocessing_train" : "lockstep train";
    std::string last;
    const auto options = dumped_options(lines);
    for (const auto& [name, stand_in] : stand_ins) {
        const auto given = [name = name](const auto& option) { return option.first == name; };
        if (std::ranges::none_of(options, given))
            command += " --" + std::string(name) + " " + std::string(stand_in);
    }
    for (const auto& [name, value] : options) {
        if (std::ranges::find(replaced, name) != replaced.end()) continue;
        if (name != last) command += " --" + name;
        command += " " + shell_word(value);
        last = name;
    }
    if (plan.moments == train::Moments::int8) command += " --moments int8";
    const auto given_as = [&](const char* option) {
        return command.find(option) != std::string::npos;
    };
    if (plan.stage > 0 && !given_as(" --zero ") && !given_as(" --ddp-backend "))
        command += " --zero " + std::to_string(plan.stage);
    const bool waits = plan.saving == train::Saving::training_waits;
    if (waits && !given_as(" --async-save ")) command += " --async-save false";
    if (plan.recompute != model::RecomputePlan{})
        command += " --recompute " + model::name(plan.recompute);
    return command;
}

}  // namespace lockstep::launcher::plan
