// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/set_evaluators.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include "launcher/command_line/output_file.hpp"
#include "launcher/evaluate/averaged_validator.hpp"

namespace lockstep::launcher {

namespace {

std::string log_of(const std::string& log, const DataSets& sets, std::size_t set) {
    if (log.empty() || !sets.several()) return log;
    std::filesystem::path path = log;
    path.replace_filename(path.stem().string() + "_" + sets.names[set] + path.extension().string());
    return path;
}

}  // namespace

std::unique_ptr<train::Validator> open_evaluators(const EvaluatorParts& parts, const DataSets& sets,
                                                  const EvaluatedRows& rows) {
    std::vector<std::unique_ptr<train::Validator>> evaluators;
    for (std::size_t i = 0; i < sets.sets.size(); ++i) {
        EvaluatedRows own = rows;
        own.max_examples = share_of_each(rows.max_examples, sets.sets.size());
        own.log = log_of(rows.log, sets, i);
        evaluators.push_back(std::make_unique<Evaluator>(parts, sets.sets[i], own));
    }
    return averaged(sets.names, std::move(evaluators), average_of(parts.config));
}

void require_logs(const DataSets& sets, const std::string& log) {
    for (std::size_t i = 0; i < sets.sets.size(); ++i)
        require_output_file("--world-logs", log_of(log, sets, i), "row");
}

}  // namespace lockstep::launcher
