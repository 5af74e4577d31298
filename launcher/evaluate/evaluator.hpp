// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/storage/dataset.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/evaluate/row_scores.hpp"
#include "launcher/evaluate/world_log.hpp"
#include "launcher/generate/reply_generator.hpp"
#include "launcher/options/run_config.hpp"
#include "model/devices/model.hpp"
#include "runtime/batch/step_source.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// An evaluator uses these objects. All of them must outlive it.
struct EvaluatorParts {
    const RunConfig& config;
    const model::ModelConfig& model_config;
    model::Model& model;
    const data::Tokenizer& tokenizer;
    comm::Communicator& communicator;
    std::int64_t lanes = 0;               // to which rows are dealt, see data::EvalLoaderOptions
    std::function<void()> on_batch = {};  // is called after each batch; may be empty
    // Is called at the end of each split with the number of all ranks' rows that were cut to the
    // longest ones; may be empty.
    std::function<void(std::int64_t rows)> on_cut = {};
    int tensor = 1;    // ranks that compute each layer together, and read the same rows
    int pipeline = 1;  // stages of the layers, whose ranks read the same rows
};

struct EvaluatedRows {
    std::string split = "valid";
    std::int64_t max_examples = -1;  // <= 0: all
    std::string log;                 // a file with a line for each row; empty: none
};

// Evaluates a model on a split of a data set, whose rows are divided among the ranks. The metrics
// are loss, ppl, token_acc, token_em, tokens, examples, and config.metrics when replies are
// requested and there are references to compare them with. Every rank calls it and gets the same
// report, for any number of ranks. The ranks agree on a request to stop after each batch.
class Evaluator final : public train::Validator {
public:
    // The data set must outlive the evaluator.
    Evaluator(const EvaluatorParts& parts, const data::Dataset& dataset, EvaluatedRows rows);

    std::optional<train::ValidationReport> evaluate(const train::StopFlag& stop) override;

private:
    bool add_batches(const train::StopFlag& stop, RowScores& scores, WorldLog& log);
    void add_batch(const train::Batch& batch, const train::StopFlag& stop, RowScores& scores,
                   WorldLog& log);

    EvaluatorParts parts_;
    comm::DataPlace place_;
    EvaluatedRows rows_;
    train::ReplyMetrics metrics_;
    data::Layout layout_;
    std::unique_ptr<train::EvalSource> source_;
    std::optional<ReplyGenerator> replier_;
    // The ranks sum these in each round: those that have a batch, those that were asked to stop,
    // and the rows of the batches that were cut.
    std::array<double, 3> batches_stops_and_cuts_{};
    double cut_rows_ = 0;  // of all rounds
};

// Tells whether the loss is a number, or infinite as that of a label that the model excludes, such
// as ParlAI's __start__. A report without labels has no loss.
bool has_finite_loss(const train::ValidationReport& report, const model::ModelConfig& config);

// Returns one line that says why a split's evaluation has no replies although they are requested.
// It is empty otherwise.
std::string why_no_replies(const RunConfig& config, const data::Dataset& dataset,
                           const std::string& split);

}  // namespace lockstep::launcher
