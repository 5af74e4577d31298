// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fitting_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/text/shell_word.hpp"

namespace lockstep::launcher::plan {

namespace {

// Options of a plan alone, and those whose values the plan has chosen; each has one value.
constexpr std::array<std::string_view, 5> replaced{"--fit", "--memory", "--vocabulary", "--moments",
                                                   "--recompute"};

bool one_of_the_replaced(std::string_view name) {
    for (const std::string_view option : replaced)
        if (name == option) return true;
    return false;
}

}  // namespace

std::string fitting_command(const std::vector<std::string>& words, const RunPlan& plan) {
    std::string command = plan.ranks > 1 ? "multiprocessing_train" : "lockstep train";
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (words[i] == "--json") continue;
        if (!one_of_the_replaced(words[i].substr(0, equals)))
            command += " " + shell_word(words[i]);
        else if (equals == std::string::npos)
            ++i;
    }
    if (plan.moments == train::Moments::int8) command += " --moments int8";
    const bool given = std::ranges::any_of(
        words, [](const std::string& word) { return word.starts_with("--async-save"); });
    if (plan.saving == train::Saving::training_waits && !given) command += " --async-save false";
    if (plan.recompute != model::RecomputePlan{})
        command += " --recompute " + model::name(plan.recompute);
    return command;
}

}  // namespace lockstep::launcher::plan
