// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/training_observers.hpp"

#include "launcher/command_line/command_line.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/train/metrics/metrics_writer.hpp"
#include "runtime/train/metrics/progress.hpp"
#include "runtime/train/metrics/tensorboard.hpp"

namespace lockstep::launcher {

TrainingObservers::TrainingObservers(const RunConfig& config, int rank, Log& log,
                                     const train::TrainerState& start)
    : summary_(summarised_, config.train.log_every_n_steps, config.train.log_every_n_secs) {
    if (rank != 0) return;
    own(std::make_unique<train::MetricsWriter>(config.model_file, start.step, log), summarised_);
    own(std::make_unique<train::TensorboardWriter>(config.model_file, start.step, log,
                                                   dumped_options(config.lines)),
        summarised_);
    // The bar on a terminal moves with every step. Lines come with the summaries and push it down.
    const auto display = [&](train::Display kind) {
        return std::make_unique<train::ProgressDisplay>(log, kind, config.train.limits,
                                                        start.seconds, output_columns);
    };
    if (output_kind() == OutputKind::terminal) own(display(train::Display::bar), all_);
    own(display(train::Display::lines), summarised_);
    all_.add(summary_);
}

void TrainingObservers::own(std::unique_ptr<train::TrainingObserver> observer,
                            train::ObserverList& list) {
    list.add(*observer);
    owned_.push_back(std::move(observer));
}

void TrainingObservers::flush() { summary_.flush(); }

}  // namespace lockstep::launcher
