// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/train/forward_backward.hpp"
#include "runtime/train/loop/trainer.hpp"
#include "tests/support/slow_communicator.hpp"

namespace lockstep::tests {

// A checkpoint in memory.
struct Snapshot {
    train::CheckpointKind kind = train::CheckpointKind::latest;
    train::TrainerState state;
    std::vector<float> weights;  // of all parameters, without gaps
    std::vector<std::vector<float>> optimizer;
    std::vector<std::vector<std::uint8_t>> codes;  // of moments in int8
};

// The events and results of one rank in a run.
struct RankRun {
    std::vector<train::StepReport> steps;
    std::vector<train::ValidationReport> validations;
    std::vector<std::int64_t> epochs;
    std::vector<Snapshot> saves;
    int changed_copies = 0;  // copies for a save that the steps behind it changed
    int finishes = 0;        // calls of CheckpointSink::finish()
    std::vector<std::uint32_t> rows;
    std::optional<train::ExitReason> reason;
    train::TrainerState state;
    std::vector<float> weights;  // that the model computes with, of all parameters, without gaps
};

// The parts of a rank that a test may use during its run.
struct RankHandle {
    int rank;
    train::StopFlag& stop;
    const train::ParameterStore<HostSpace>& store;
};

// A run of the toy model over the toy rows. Every rank is a thread.
struct RunSetup {
    int world = 1;
    int sharing = 1;  // ranks that share a replica
    int stage = 1;    // what they share
    train::TrainOptions options;
    std::int64_t rows = 60, batchsize = 3;
    float dropout = 0.2F;
    std::optional<Slowness> slowness;  // of every operation between ranks
    train::Precision precision = train::Precision::fp32;
    std::optional<Snapshot> resume;
    // Puts a wrapper between the trainer and the toy model.
    using Wrap = std::function<std::unique_ptr<train::ForwardBackward>(train::ForwardBackward& toy,
                                                                       RankHandle)>;
    Wrap wrap;
    std::function<void(const train::StepReport&, RankHandle)> on_step;
    enum class Results { at_once, a_step_late } results = Results::at_once;
    std::function<void(const RankRun& so_far)> check_saves;  // CheckpointSink::check()
    // Returns the loss of the n-th validation. If empty, the model's own loss counts.
    std::function<double(std::size_t)> validation_loss;
    // Tells whether the n-th validation is abandoned. If empty, none is.
    std::function<bool(std::size_t)> abandons;
    std::function<bool()> weights_are_sound;  // TrainerParts::weights_are_sound
};

// Rethrows the error of a rank.
std::vector<RankRun> run_training(const RunSetup& setup);

// Passes everything on to the model below.
class ModelWrapper : public train::ForwardBackward {
public:
    explicit ModelWrapper(train::ForwardBackward& below) : below_(below) {}

    const train::ParameterTable& parameters() const noexcept override {
        return below_.parameters();
    }
    void reserve(std::size_t activation_bytes) override { below_.reserve(activation_bytes); }
    train::UploadedShape upload(const train::Batch& batch) override { return below_.upload(batch); }
    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override {
        below_.train(state, sums, into, sink);
    }
    using train::ForwardBackward::evaluate;
    void evaluate(const train::Batch& batch, kernels::LossSums* losses,
                  train::WeightSource& weights) override {
        below_.evaluate(batch, losses, weights);
    }
    train::ModelSpans take_spans() override { return below_.take_spans(); }
    std::size_t peak_activation_bytes() const noexcept override {
        return below_.peak_activation_bytes();
    }

private:
    train::ForwardBackward& below_;
};

}  // namespace lockstep::tests
