// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/evaluator.hpp"

#include <cmath>
#include <utility>

#include "data/loading/eval_loader.hpp"
#include "launcher/options/batching.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::launcher {

namespace {

// Returns "metric" of "NAME/metric".
std::string_view metric_of_set(std::string_view metric) {
    return metric.substr(metric.rfind('/') + 1);
}

bool generates(const RunConfig& config, const data::Dataset& dataset, const std::string& split) {
    return !config.skip_generation && data::holds_references(dataset, split);
}

comm::DataPlace place_of(const EvaluatorParts& parts) {
    return comm::data_place(parts.communicator.rank(), parts.communicator.size(), parts.tensor,
                            parts.pipeline);
}

data::EvalLoaderOptions loader_options(const EvaluatorParts& parts, const data::Dataset& dataset,
                                       const EvaluatedRows& rows) {
    data::EvalLoaderOptions options;
    options.batching = eval_batching(parts.config, parts.model_config, dataset);
    options.split = rows.split;
    const comm::DataPlace place = place_of(parts);
    options.rank = place.rank;
    options.world = place.ranks;
    options.lanes = parts.lanes;
    options.max_examples = rows.max_examples;
    if (generates(parts.config, dataset, rows.split) || !rows.log.empty())
        options.references = data::ReferenceText::read;
    return options;
}

}  // namespace

Evaluator::Evaluator(const EvaluatorParts& parts, const data::Dataset& dataset, EvaluatedRows rows)
    : parts_(parts),
      place_(place_of(parts)),
      rows_(std::move(rows)),
      metrics_(parts.config.metrics, metric_of_set(parts.config.train.validation.metric)),
      layout_(eval_batching(parts.config, parts.model_config, dataset).layout),
      source_(data::open_eval_source(dataset, loader_options(parts_, dataset, rows_))) {
    if (generates(parts.config, dataset, rows_.split))
        replier_.emplace(parts.model.decoder(), parts.tokenizer, reply_options(parts.config));
}

std::optional<train::ValidationReport> Evaluator::evaluate(const train::StopFlag& stop) {
    const auto begin = Clock::now();
    RowScores scores(metrics_);
    WorldLog log;
    source_->rewind();
    cut_rows_ = 0;
    if (replier_) parts_.model.gather_for_decoder();
    if (!add_batches(stop, scores, log)) return std::nullopt;
    train::ValidationReport report;
    report.split = rows_.split;
    report.metrics = scores.of_all(parts_.communicator);
    if (!rows_.log.empty()) log.write(parts_.communicator, rows_.log);
    if (parts_.on_cut) parts_.on_cut(static_cast<std::int64_t>(cut_rows_));
    report.seconds = seconds_between(begin, Clock::now());
    return report;
}

// Returns false if a rank was asked to stop. Ranks may have different numbers of batches, so all of
// them go on with the rounds until none has a batch. The ranks are compared while a batch is
// computed: a rank waits only for those that are more than a batch behind it.
bool Evaluator::add_batches(const train::StopFlag& stop, RowScores& scores, WorldLog& log) {
    train::Batch batch;
    bool more = source_->next(batch);
    for (;;) {
        const bool counts = place_.counts == comm::RowCounts::own;
        const double cut = more && counts ? static_cast<double>(batch.truncated_rows) : 0.0;
        batches_stops_and_cuts_ = {more ? 1.0 : 0.0, stop.load() ? 1.0 : 0.0, cut};
        parts_.communicator.all_reduce(view_of(batches_stops_and_cuts_), comm::ReduceOp::sum,
                                       "validation's state");
        more ? add_batch(batch, stop, scores, log) : parts_.model.evaluate_nothing();
        if (more && parts_.on_batch) parts_.on_batch();
        parts_.communicator.finish();
        const auto [with_batches, asked_to_stop, cut_rows] = batches_stops_and_cuts_;
        cut_rows_ += cut_rows;
        if (asked_to_stop > 0) return false;
        if (with_batches == 0) return true;
        more = more && source_->next(batch);
    }
}

void Evaluator::add_batch(const train::Batch& batch, const train::StopFlag& stop, RowScores& scores,
                          WorldLog& log) {
    const std::vector<kernels::LossSums> losses = parts_.model.evaluate(batch);
    if (place_.counts == comm::RowCounts::of_another) return;
    if (stop.load()) return;  // the next round abandons the evaluation
    std::vector<std::string> replies;
    if (replier_) replies = replier_->reply(batch, layout_);
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        NamedValues metrics = scores.add(batch.rows[i], losses[i]);
        std::optional<std::string> reply;
        if (replier_) {
            reply = replies[i];
            metrics.merge(scores.add_reply(replies[i], batch.references[i]));
        }
        if (!rows_.log.empty())
            log.add(batch.rows[i], texts_of(batch, i, parts_.tokenizer), reply, metrics);
    }
}

bool has_finite_loss(const train::ValidationReport& report, const model::ModelConfig& config) {
    const auto loss = report.metrics.find("loss");
    if (loss == report.metrics.end() || std::isfinite(loss->second)) return true;
    return config.excluded_token >= 0 && std::isinf(loss->second);
}

std::string why_no_replies(const RunConfig& config, const data::Dataset& dataset,
                           const std::string& split) {
    if (config.skip_generation || generates(config, dataset, split)) return "";
    const bool text = dataset.kind() == data::DatasetKind::language_model;
    return "no replies are generated: " + dataset.directory() +
           (text ? " holds plain text" : ", split " + split + ", holds no texts of labels") +
           ", so that there is nothing to compare them with";
}

}  // namespace lockstep::launcher
