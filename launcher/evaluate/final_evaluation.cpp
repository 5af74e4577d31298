// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/final_evaluation.hpp"

#include <utility>
#include <vector>

#include "launcher/evaluate/evaluation_report.hpp"
#include "launcher/evaluate/set_evaluators.hpp"
#include "launcher/text/units.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/metrics/progress.hpp"

namespace lockstep::launcher {

void evaluate_at_the_end(const EvaluatorParts& parts, const DataSets& sets,
                         const train::TrainerState& state, const train::StopFlag& stop, Log& log,
                         train::TrainingObserver& observer, const MemoryRecord& memory,
                         const std::function<void()>& keep_metrics) {
    const RunConfig& config = parts.config;
    const std::string weights = state.validation.best ? "best" : "last";
    const std::int64_t unseen = state.updates - state.validation.last_updates;
    if (state.validation.best && unseen > 0)
        log.info("the last validation was after update " +
                 std::to_string(state.validation.last_updates) + "; the weights of the " +
                 counted(unseen, "update", "updates") +
                 " since were compared with no others, and are in the newest checkpoint alone");
    std::vector<std::pair<std::string, NamedValues>> metrics;
    for (const char* split : {data::format::valid_split, data::format::test_split}) {
        const DataSets having = sets_with(sets, split);
        if (having.sets.empty()) continue;
        log.info("evaluating the " + weights + " weights on " + split);
        EvaluatedRows rows;
        rows.split = split;
        if (config.short_final_eval) rows.max_examples = config.train.validation.max_examples;
        if (rows.split == data::format::test_split) rows.log = config.world_logs;
        std::optional<train::ValidationReport> report =
            open_evaluators(parts, having, rows)->evaluate(stop);
        if (!report) return log.info("this evaluation was stopped; the same command makes it");
        report->step = state.step;
        report->updates = state.updates;
        report->epoch = state.epochs;
        report->best = state.validation.best.has_value();
        observer.on_final(*report);
        log.info("the model with the " + weights + " weights, " + split + ": " +
                 train::metrics_text(*report));
        metrics.emplace_back("final_" + rows.split + "_report", report->metrics);
    }
    if (parts.communicator.rank() != 0) return;
    keep_metrics();
    train::write_atomically(config.model_file + "/report.json",
                            evaluation_report(config, metrics, state.step, memory));
}

}  // namespace lockstep::launcher
