// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launcher/evaluate/evaluator.hpp"
#include "launcher/rank/data_sets.hpp"

namespace lockstep::launcher {

// Evaluates several data sets one after the other and averages them, or evaluates a single one. A
// limit of rows is divided among the sets. If there are several, the name of rows.log includes each
// set's name: log.jsonl becomes log_NAME.jsonl, as in ParlAI. The sets must outlive the result.
std::unique_ptr<train::Validator> open_evaluators(const EvaluatorParts& parts, const DataSets& sets,
                                                  const EvaluatedRows& rows);

// Throws an error when the logs of the sets' rows cannot be written or would replace other files.
void require_logs(const DataSets& sets, const std::string& log);

}  // namespace lockstep::launcher
