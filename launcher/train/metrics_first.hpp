// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/train/training_observers.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Reports all steps and syncs metrics.jsonl before a checkpoint is saved. A run that continues from
// the checkpoint then has a line for each step before it, also after a kill or a power cut. Metrics
// that cannot be synced are told once and do not prevent the save.
class MetricsFirst final : public train::CheckpointSink {
public:
    // `metrics_file` is empty on ranks that write none. The references must outlive this object.
    MetricsFirst(train::CheckpointSink& checkpoints, TrainingObservers& observers,
                 std::string metrics_file, Log& log)
        : checkpoints_(checkpoints),
          observers_(observers),
          metrics_file_(std::move(metrics_file)),
          log_(log) {}

    void save(train::CheckpointKind kind, const train::TrainerState& state) override;
    bool part_is_written() const override { return checkpoints_.part_is_written(); }
    void parts_are_written() override { checkpoints_.parts_are_written(); }
    void check() override { checkpoints_.check(); }
    void finish() override { checkpoints_.finish(); }
    // Reports all steps and syncs the metrics, if this rank writes them.
    void keep_metrics();

private:
    void sync();

    train::CheckpointSink& checkpoints_;
    TrainingObservers& observers_;
    std::string metrics_file_;
    Log& log_;
    bool told_ = false;
};

}  // namespace lockstep::launcher
