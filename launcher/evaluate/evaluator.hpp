// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/storage/dataset.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/evaluate/row_scores.hpp"
#include "launcher/evaluate/world_log.hpp"
#include "launcher/generate/reply_generator.hpp"
#include "launcher/options/run_config.hpp"
#include "model/devices/device_model.hpp"
#include "runtime/batch/step_source.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// What an evaluator works with; all of it outlives the evaluator.
struct EvaluatorParts {
    const RunConfig& config;
    const model::ModelConfig& model_config;
    model::DeviceModel& model;
    const data::Tokenizer& tokenizer;
    comm::Communicator& communicator;
};

struct EvaluatedRows {
    std::string split = "valid";
    std::int64_t max_examples = -1;  // <= 0: all
    std::string log;                 // a file with a line for each row; empty: none
};

// Evaluates a model on the rows that belong to the ranks of a data set's split: loss, ppl,
// token_acc, token_em, tokens, examples; where replies are asked for and there is something to
// compare them with, also config.metrics. Every rank calls it and gets the same report, whatever
// the number of ranks.
class Evaluator final : public train::Validator {
public:
    // The data set outlives the evaluator.
    Evaluator(const EvaluatorParts& parts, const data::Dataset& dataset, EvaluatedRows rows);

    train::ValidationReport evaluate() override;

private:
    void add_batch(const train::Batch& batch, RowScores& scores, WorldLog& log);

    EvaluatorParts parts_;
    EvaluatedRows rows_;
    train::ReplyMetrics metrics_;
    data::Layout layout_;
    std::unique_ptr<train::EvalSource> source_;
    std::optional<ReplyGenerator> replier_;
};

// One line that says why a split's evaluation has no replies although they are asked for; empty
// where it has, or nobody asks.
std::string why_no_replies(const RunConfig& config, const data::Dataset& dataset,
                           const std::string& split);

}  // namespace lockstep::launcher
