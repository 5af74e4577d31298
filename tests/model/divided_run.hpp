// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/architectures.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/loop/trainer.hpp"
#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/summed_losses.hpp"

namespace lockstep::tests {

using train::OptimizerKind;

// Runs of ranks among which a model is divided.

// What ranks send in rows, and whether they forget to add what they share.
struct Wire {
    std::int64_t gathered = 0, scattered = 0;  // calls among tensor ranks
    std::int64_t row_bytes = 0;                // of both, of all ranks' parts together
    bool forgets_shared = false;
};

class WatchedTransport final : public comm::Transport {
public:
    WatchedTransport(std::unique_ptr<comm::Transport> below, Wire& wire)
        : below_(std::move(below)), wire_(wire) {}

    int rank() const noexcept override { return below_->rank(); }
    int size() const noexcept override { return below_->size(); }
    void all_reduce(comm::HostRange range, comm::ReduceOp reduction) override {
        if (wire_.forgets_shared && range.element == Dtype::fp32) return;
        below_->all_reduce(range, reduction);
    }
    void reduce_scatter(comm::HostRange range, comm::ReduceOp reduction) override {
        ++wire_.scattered;
        wire_.row_bytes += static_cast<std::int64_t>(range.bytes());
        below_->reduce_scatter(range, reduction);
    }
    void all_gather(comm::HostRange from, comm::HostRange to) override {
        if (to.element != Dtype::byte) {
            ++wire_.gathered;
            wire_.row_bytes += static_cast<std::int64_t>(to.bytes());
        }
        below_->all_gather(from, to);
    }
    void broadcast(comm::HostRange range, int root) override { below_->broadcast(range, root); }
    void send(comm::HostRange range, int to) override { below_->send(range, to); }
    void recv(comm::HostRange range, int from) override { below_->recv(range, from); }
    void exchange(std::optional<comm::Message> sent,
                  std::optional<comm::Message> received) override {
        below_->exchange(sent, received);
    }
    void barrier() override { below_->barrier(); }
    std::unique_ptr<comm::Transport> split(int colour) override {
        return std::make_unique<WatchedTransport>(below_->split(colour), wire_);
    }
    void interrupt() noexcept override { below_->interrupt(); }

private:
    std::unique_ptr<comm::Transport> below_;
    Wire& wire_;
};

inline model::ModelConfig of_kind(model::Kind kind) {
    const model::Architecture& family = model::architecture(kind);
    model::ModelConfig config;
    if (kind == model::Kind::gpt2) config = model::gpt2_config();
    config.kind = kind;
    if (family.variant) config.variant = family.variant->value;
    if (family.activation) config.activation = family.activation->value;
    if (family.positions) config.positions = family.positions->value;
    if (family.embedding_scale) config.embedding_scale = family.embedding_scale->value;
    if (family.parts) config.parts = *family.parts;
    config.vocabulary = ToyModel::vocabulary;
    config.embedding_size = 32;
    config.ffn_size = 48;
    config.heads = 4;
    config.encoder_layers = config.decoder_layers = 2;
    config.n_positions = 24;
    return config;
}

inline model::ModelConfig with_dropout(model::ModelConfig config) {
    config.dropout = 0.1f;
    config.attention_dropout = 0.1f;
    if (config.parts.gate == model::Has::no) config.relu_dropout = 0.2f;
    return config;
}

inline model::ModelConfig grouped(model::Kind kind, std::int64_t kv_heads) {
    model::ModelConfig config = of_kind(kind);
    config.parts.kv_heads = kv_heads;
    return config;
}

inline std::vector<model::ModelConfig> configs() {
    return {
        with_dropout(of_kind(model::Kind::gpt2)),      grouped(model::Kind::llama, 2),
        with_dropout(grouped(model::Kind::qwen3, 1)),  grouped(model::Kind::qwen2, 4),
        with_dropout(of_kind(model::Kind::generator)), with_dropout(of_kind(model::Kind::bart))};
}

// Both sides have a multiple of 16 tokens, as batches of data sets do.
inline train::Batch filled(train::Batch batch, const model::ModelConfig& config) {
    if (batch.empty()) return batch;
    const std::size_t total = (batch.labels.size() + 15) / 16 * 16;
    if (model::has_encoder(config)) {
        batch.source = batch.target;
        batch.source.tokens.resize(total, 0);
    }
    batch.target.tokens.resize(total, 0);
    batch.labels.resize(total, -1);
    return batch;
}

class Source final : public train::StepSource {
public:
    Source(const comm::DataPlace& place, std::int64_t lanes, const model::ModelConfig& config)
        : config_(config), rows_({place.ranks, place.rank, lanes, 30, 2}) {}
    train::StepBatches next() override {
        train::StepBatches step = rows_.next();
        for (train::Batch& batch : step.lanes) batch = filled(std::move(batch), config_);
        return step;
    }
    void next_epoch() override { rows_.next_epoch(); }
    void seek(train::Position position) override { rows_.seek(position); }
    std::int64_t rows_per_epoch() const override { return rows_.rows_per_epoch(); }
    const ToySource& rows() const noexcept { return rows_; }

private:
    const model::ModelConfig& config_;
    ToySource rows_;
};

struct Run {
    std::vector<train::StepReport> steps;
    std::vector<double> validations;
    std::vector<std::uint32_t> rows;            // that the rank was given
    std::vector<std::vector<float>> weights;    // of each parameter; empty but on rank 0
    std::vector<std::vector<float>> optimizer;  // the same
};

class Witness final : public train::TrainingObserver,
                      public train::CheckpointSink,
                      public train::Validator {
public:
    Witness(model::Model& model, const model::ModelConfig& config, train::Engine& engine,
            std::string to, Run& run)
        : model_(model), config_(config), engine_(engine), to_(std::move(to)), run_(run) {}

    void on_step(const train::StepReport& report) override { run_.steps.push_back(report); }
    void on_validation(const train::ValidationReport&) override {}
    void on_epoch(std::int64_t) override {}
    std::optional<train::ValidationReport> evaluate(const train::StopFlag&) override {
        const auto batch = filled(ToySource::batch_of({40, 41, 42, 43, 44, 45, 46}), config_);
        const kernels::LossSums sums = summed(model_.evaluate(batch));
        run_.validations.push_back(sums.nll / sums.tokens);
        train::ValidationReport report;
        report.metrics = {{"loss", sums.nll / sums.tokens}, {"ppl", 1}, {"token_acc", 0}};
        return report;
    }
    void save(train::CheckpointKind, const train::TrainerState& state) override {
        const train::RunTensors tensors = engine_.copy_for_save();
        if (tensors.master.empty()) return;
        run_.weights.clear();
        run_.optimizer.clear();
        for (const train::Parameter& parameter : tensors.table.all()) {
            const auto part = tensors.master.subview(parameter.offset, parameter.count);
            run_.weights.emplace_back(part.begin(), part.end());
        }
        for (const train::OptimizerTensor& tensor : tensors.optimizer)
            run_.optimizer.emplace_back(tensor.values.begin(), tensor.values.end());
        if (!to_.empty()) save_checkpoint(to_, tensors, {state, "{}", {}, {}});
    }

private:
    model::Model& model_;
    const model::ModelConfig& config_;
    train::Engine& engine_;
    std::string to_;
    Run& run_;
};

struct Setup {
    model::ModelConfig config = {};
    train::TrainOptions options = {};
    int data = 1;  // ranks that read rows of their own
    train::Precision precision = train::Precision::fp32;
    model::RecomputePlan recompute = {};
    std::string from = {}, to = {};  // checkpoints
};

inline Setup setup_of(const model::ModelConfig& config, OptimizerKind optimizer, int steps = 20) {
    Setup setup{.config = config};
    setup.options.lanes = 2;
    setup.options.optimizer.kind = optimizer;
    setup.options.optimizer.learningrate = optimizer == OptimizerKind::sgd ? 0.05 : 0.001;
    setup.options.optimizer.gradient_clip = 1;
    setup.options.schedule.kind = train::ScheduleKind::fixed;
    setup.options.limits.max_train_steps = steps;
    setup.options.validation.every_n_steps = 7;
    setup.options.hash_every_n_updates = 1;
    setup.options.reducer.first_bucket_bytes = 1 << 10;
    setup.options.reducer.bucket_bytes = 1 << 12;
    return setup;
}

inline Run train_as_rank(const Setup& setup, comm::Communicator& ranks) {
    const int tensor = setup.options.tensor, stages = setup.options.pipeline;
    const comm::DataPlace place = comm::data_place(ranks.rank(), ranks.size(), tensor, stages);
    const int sharing = train::sharing_ranks(setup.options.zero, place.ranks);
    const auto model = model::make_cpu_model(setup.config, setup.precision, 1, setup.recompute,
                                             {place.ranks,
                                              sharing,
                                              place.rank % sharing,
                                              setup.options.reducer,
                                              setup.options.zero.stage,
                                              {ranks.rank() % tensor, tensor},
                                              {ranks.rank() / (ranks.size() / stages), stages}});
    Run run;
    Trace trace(Trace::Recording::off, ranks.rank());
    const auto engine = model->make_engine(setup.options, ranks, trace, nullptr);
    std::optional<train::TrainerState> resume;
    if (ranks.rank() == 0 && setup.from.empty()) model->initialize(7);
    if (!setup.from.empty()) resume = train::read_run_record(setup.from).trainer;
    if (ranks.rank() == 0 && !setup.from.empty()) {
        (void)train::load_checkpoint(setup.from, engine->fetch());
        engine->write_back();
    }
    Source source(place, setup.options.lanes, setup.config);
    Witness witness(*model, setup.config, *engine, setup.to, run);
    const train::StopFlag stop{false};
    train::TrainerParts parts{*engine, ranks, trace, source, witness, witness, &witness, stop};
    parts.row_counts = place.counts;
    train::Trainer trainer(setup.options, parts, resume);
    trainer.run();
    run.rows = source.rows().given();
    return run;
}

inline std::vector<Run> train_on(const Setup& setup, Wire& wire) {
    const int size = setup.data * train::ranks_of_place(setup.options);
    comm::ThreadWorld world(size);
    std::vector<Run> runs(static_cast<std::size_t>(size));
    std::vector<Wire> wires(runs.size(), wire);
    std::vector<std::exception_ptr> errors(runs.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < runs.size(); ++rank)
        threads.emplace_back([&, rank] {
            try {
                comm::QueuedCommunicator ranks([&] {
                    return std::make_unique<WatchedTransport>(
                        world.transport(static_cast<int>(rank)), wires[rank]);
                });
                runs[rank] = train_as_rank(setup, ranks);
            } catch (...) {
                errors[rank] = std::current_exception();
                world.fail();
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::string told;
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
        if (!errors[rank]) continue;
        try {
            std::rethrow_exception(errors[rank]);
        } catch (const std::exception& error) {
            told += "rank " + std::to_string(rank) + ": " + error.what() + "\n";
        }
    }
    REQUIRE_MESSAGE(told.empty(), told);
    wire = wires.front();
    return runs;
}

inline std::vector<Run> train_on(const Setup& setup) {
    Wire wire;
    return train_on(setup, wire);
}

inline Setup divided(Setup setup, int tensor, int data) {
    setup.options.tensor = tensor;
    setup.data = data;
    return setup;
}

inline double difference(const Run& a, const Run& b) {
    REQUIRE(a.steps.size() == b.steps.size());
    REQUIRE(!a.steps.empty());
    double largest = 0;
    for (std::size_t i = 0; i < a.steps.size(); ++i)
        largest = std::max(largest, std::abs(a.steps[i].loss - b.steps[i].loss) / a.steps[i].loss);
    REQUIRE(a.validations.size() == b.validations.size());
    for (std::size_t i = 0; i < a.validations.size(); ++i)
        largest =
            std::max(largest, std::abs(a.validations[i] - b.validations[i]) / a.validations[i]);
    return largest;
}

// Returns the largest difference of two parameters' changes, as a share of the largest change of
// that parameter.
inline double of_changes(const Run& before, const Run& a, const Run& b) {
    double largest = 0;
    for (std::size_t i = 0; i < before.weights.size(); ++i) {
        double change = 0, apart = 0;
        for (std::size_t j = 0; j < before.weights[i].size(); ++j) {
            const double from = before.weights[i][j];
            change = std::max(change, std::abs(a.weights[i][j] - from));
            apart = std::max<double>(apart, std::abs(a.weights[i][j] - b.weights[i][j]));
        }
        if (change > 0) largest = std::max(largest, apart / change);
    }
    return largest;
}

inline Setup one_long_step(const model::ModelConfig& config) {
    Setup setup = setup_of(config, OptimizerKind::sgd, 1);
    setup.options.optimizer.learningrate = 1000;
    setup.options.optimizer.gradient_clip = 0;
    setup.options.validation.every_n_steps = -1;
    return setup;
}

}  // namespace lockstep::tests
