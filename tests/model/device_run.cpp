// SPDX-License-Identifier: Apache-2.0
#include "tests/model/device_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/summed_losses.hpp"

namespace lockstep::tests {

namespace {

// The source of a generator is the row itself.
class RowSource final : public train::StepSource {
public:
    RowSource(ToySource::Layout layout) : rows_(layout) {}

    train::StepBatches next() override {
        train::StepBatches step = rows_.next();
        for (train::Batch& batch : step.lanes) {
            if (batch.empty()) continue;
            batch.source = batch.target;
            // Filler makes the shapes repeat.
            batch = with_filler(std::move(batch), 15 - (batch.labels.size() + 15) % 16);
        }
        return step;
    }
    void next_epoch() override { rows_.next_epoch(); }
    void seek(train::Position position) override { rows_.seek(position); }
    std::int64_t rows_per_epoch() const override { return rows_.rows_per_epoch(); }

private:
    ToySource rows_;
};

// Validates on more rows than a step has.
class ModelValidator final : public train::Validator {
public:
    ModelValidator(model::Model& model, DeviceRun& run) : model_(model), run_(run) {}

    std::optional<train::ValidationReport> evaluate(const train::StopFlag&) override {
        train::Batch batch = ToySource::batch_of({40, 41, 42, 43, 44, 45, 46});
        batch.source = batch.target;
        const kernels::LossSums sums = summed(model_.evaluate(batch));
        const double loss = sums.nll / sums.tokens;
        run_.validation_losses.push_back(loss);
        train::ValidationReport report;
        report.metrics = {
            {"loss", loss}, {"ppl", std::exp(loss)}, {"token_acc", sums.correct / sums.tokens}};
        return report;
    }

private:
    model::Model& model_;
    DeviceRun& run_;
};

class Witness final : public train::TrainingObserver, public train::CheckpointSink {
public:
    Witness(train::Engine& engine, std::string to, DeviceRun& run)
        : engine_(engine), to_(std::move(to)), run_(run) {}

    void on_step(const train::StepReport& report) override { run_.steps.push_back(report); }
    void on_validation(const train::ValidationReport&) override {}
    void on_epoch(std::int64_t) override {}
    void save(train::CheckpointKind, const train::TrainerState& state) override {
        const train::RunTensors tensors = engine_.copy_for_save();
        if (engine_.owned() != nullptr) keep_owned(engine_.owned()->copy());
        if (tensors.master.empty()) return;
        run_.weights.clear();
        for (const train::Parameter& parameter : tensors.table.all()) {
            const auto part = tensors.master.subview(parameter.offset, parameter.count);
            run_.weights.insert(run_.weights.end(), part.begin(), part.end());
        }
        if (!to_.empty()) save_checkpoint(to_, tensors, {state, "{}", {}, {}});
    }

private:
    void keep_owned(const train::RunPieces& pieces) {
        run_.owned.assign(pieces.table.count(), 0);
        for (const train::RunPiece& piece : pieces.weights) {
            std::size_t first = piece.first;  // among all parameters without gaps
            for (const train::Parameter& before : pieces.table.all()) {
                if (before.name == piece.name) break;
                first += before.count;
            }
            std::ranges::copy(piece.values, run_.owned.begin() + static_cast<long>(first));
        }
    }

    train::Engine& engine_;
    std::string to_;
    DeviceRun& run_;
};

}  // namespace

model::ModelConfig toy_config(model::Kind kind) {
    model::ModelConfig config =
        kind == model::Kind::gpt2 ? model::gpt2_config() : model::ModelConfig{};
    config.vocabulary = ToyModel::vocabulary;
    config.embedding_size = 16;
    config.ffn_size = 24;
    config.heads = 2;
    config.encoder_layers = config.decoder_layers = 1;
    config.n_positions = 24;
    return config;
}

void spread_weights(model::Model& model) {
    comm::LocalCommunicator alone;
    Trace trace(Trace::Recording::off, 0);
    const auto engine = model.make_engine({}, alone, trace, nullptr);
    model.initialize(7);
    PhiloxStream random(3);
    for (float& weight : engine->fetch().master)
        weight += static_cast<float>(random.uniform() - 0.5);
    engine->write_back();
}

DeviceRun train_on(model::Model& model, const train::TrainOptions& options,
                   comm::Communicator& ranks, const RunFiles& files) {
    DeviceRun run;
    Trace trace(Trace::Recording::off, ranks.rank());
    const auto engine = model.make_engine(options, ranks, trace, nullptr);
    std::optional<train::TrainerState> resume;
    // Every rank begins with other weights, so that rank 0's must replace them.
    model.initialize(options.seed + static_cast<std::uint64_t>(ranks.rank()));
    if (!files.from.empty()) {
        resume = train::load_checkpoint(files.from, engine->fetch()).trainer;
        engine->write_back();
    }
    constexpr std::int64_t rows = 30, batchsize = 2;
    RowSource source({ranks.size(), ranks.rank(), options.lanes, rows, batchsize});
    Witness witness(*engine, files.to, run);
    ModelValidator validator(model, run);
    const bool validates = options.validation.every_n_steps > 0;
    const train::StopFlag stop{false};
    train::Trainer trainer(
        options,
        {*engine, ranks, trace, source, witness, witness, validates ? &validator : nullptr, stop},
        resume);
    trainer.run();
    run.state = trainer.state();
    return run;
}

DeviceRun train_on(model::Model& model, const train::TrainOptions& options, const RunFiles& files) {
    comm::LocalCommunicator alone;
    return train_on(model, options, alone, files);
}

double difference(const DeviceRun& a, const DeviceRun& b) {
    REQUIRE(a.steps.size() == b.steps.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
        const double x = a.steps[i].loss, y = b.steps[i].loss;
        largest = std::max(largest, std::abs(x - y) / std::abs(x));
    }
    return largest;
}

}  // namespace lockstep::tests
