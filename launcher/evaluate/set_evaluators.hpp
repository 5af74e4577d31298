// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launcher/evaluate/evaluator.hpp"
#include "launcher/rank/data_sets.hpp"

namespace lockstep::launcher {

// Evaluates several data sets one by one, and their average, or the one alone. A limit of rows is
// shared out among them; of several sets, rows.log gets each one's name: log.jsonl is
// log_NAME.jsonl, as in ParlAI. The sets outlive it.
std::unique_ptr<train::Validator> open_evaluators(const EvaluatorParts& parts, const DataSets& sets,
                                                  const EvaluatedRows& rows);

// Throws an error where the logs of the sets' rows cannot be written, or would replace other files.
void require_logs(const DataSets& sets, const std::string& log);

// Returns those sets that have the split.
DataSets sets_with(const DataSets& sets, const std::string& split);

}  // namespace lockstep::launcher
