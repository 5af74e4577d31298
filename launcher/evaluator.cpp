// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/unicode.hpp"
#include "runtime/train/text_metrics.hpp"

namespace lockstep::launcher {

Evaluator::Evaluator(model::DeviceModel& model, std::unique_ptr<train::EvalSource> source,
                     data::Layout layout, comm::Communicator& communicator, Replier* replier)
    : model_(model),
      source_(std::move(source)),
      layout_(layout),
      communicator_(communicator),
      replier_(replier) {}

train::ValidationReport Evaluator::evaluate() {
    const auto begin = Clock::now();
    train::TextScores scores([](std::string_view text) { return data::unicode::lower(text); });
    double rows = 0;
    source_->rewind();
    for (train::Batch batch; source_->next(batch);) {
        model_.evaluate(batch);
        rows += static_cast<double>(batch.rows.size());
        if (replier_ == nullptr) continue;
        const auto replies = replier_->reply(contexts_of(batch, layout_), batch.rows);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            scores.add(replies[i], batch.references[i]);
        }
    }
    const kernels::LossSums sums = model_.take_losses();
    std::array<double, 4> totals{sums.nll, sums.tokens, sums.correct, rows};
    communicator_.all_reduce(HostView<double>(totals.data(), totals.size()), comm::Reduction::sum,
                             "evaluation");
    communicator_.all_reduce(scores.sums(), comm::Reduction::sum, "text scores");
    communicator_.finish();

    train::ValidationReport report;
    const double tokens = std::max(totals[1], 1.0);
    report.metrics = {{"loss", totals[0] / tokens},
                      {"ppl", std::exp(totals[0] / tokens)},
                      {"token_acc", totals[2] / tokens},
                      {"tokens", totals[1]},
                      {"examples", totals[3]}};
    if (replier_ != nullptr) {
        report.metrics["f1"] = scores.f1();
        report.metrics["bleu-4"] = scores.bleu4();
    }
    report.seconds = seconds_between(begin, Clock::now());
    return report;
}

}  // namespace lockstep::launcher
