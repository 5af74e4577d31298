// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/step_loader.hpp"
#include "launcher/evaluate/averaged_validator.hpp"
#include "launcher/evaluate/evaluator.hpp"
#include "launcher/train/checked_source.hpp"
#include "launcher/train/continuation.hpp"
#include "launcher/train/training.hpp"
#include "launcher/train/training_observers.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/core/log.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/loop/trainer.hpp"
#include "runtime/train/reduction/step_traffic.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::launcher {

class MetricsFirst;

// Owns everything that one rank of a training run needs, built in the order in which it is needed.
class TrainingSession {
public:
    // Collective. The referenced objects must outlive the session. So must `progress`, which is
    // null when nobody watches the run.
    TrainingSession(const RunConfig& config, const TrainingPlan& plan, Job& job, Log& log,
                    comm::RankProgress* progress = nullptr);

    // Trains until a limit or a stop. The model folder then holds the best weights and their
    // metrics on valid and test. `continuing` is the command that continues after a stop.
    void run(const train::StopFlag& stop, const std::string& continuing);

private:
    void start_weights();
    // Tells what changed, and returns what all ranks have to know of the checkpoint.
    std::string tell_record(const train::RunRecord& record) const;
    void start_first_weights();
    // Tells which weights the run begins with, and returns where they are; empty: initial ones.
    std::string tell_first_weights() const;
    void continue_from(const Continuation& shared);
    void open_data();
    DealingRecord dealing() const;
    train::RunRecord new_record() const;
    void open_validation();
    void prepare_folder() const;
    train::StepTraffic traffic() const;
    void write_trace() const;
    std::string ended_text(train::ExitReason reason, const train::TrainerState& state) const;
    void tell_checkpoint(std::int64_t step, const std::string& continuing) const;
    void train(const train::StopFlag& stop, const std::string& continuing);
    EvaluatorParts evaluator_parts();
    bool is_sound();
    void evaluate_weights(const train::TrainerState& state, const train::StopFlag& stop,
                          train::TrainingObserver& observer, MetricsFirst& metrics);

    const RunConfig& config_;
    const TrainingPlan& plan_;
    Job& job_;
    Log& log_;
    comm::RankProgress* progress_;
    train::TrainOptions options_;
    const comm::DataPlace place_;
    Trace trace_;
    const model::RecomputePlan recompute_;
    const std::int64_t activations_bytes_;  // reserved before the first step
    std::unique_ptr<model::Model> model_;
    std::unique_ptr<train::Engine> engine_;
    std::optional<train::TrainerState> resume_;
    bool has_best_ = false;               // the folder has the best weights of a validation
    std::optional<DealingRecord> dealt_;  // as the checkpoint says
    std::vector<ContinuedPart> parts_;
    std::unique_ptr<data::StepLoader> loader_;
    std::unique_ptr<CheckedSource> source_;
    std::unique_ptr<data::Tokenizer> tokenizer_;
    std::unique_ptr<train::Validator> evaluator_;
};

}  // namespace lockstep::launcher
