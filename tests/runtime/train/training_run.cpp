// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/train/training_run.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/step/device_engine_inl.hpp"
#include "tests/runtime/train/engine_ahead.hpp"
#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/summed_losses.hpp"

namespace lockstep::tests {
namespace {

std::vector<float> copy(HostView<const float> values) { return {values.begin(), values.end()}; }

// Returns the parameters of a flat buffer, which may be empty, without the gaps.
std::vector<float> without_gaps(const train::ParameterTable& table, HostView<const float> flat) {
    std::vector<float> values;
    if (flat.empty()) return values;
    for (const train::Parameter& parameter : table.all()) {
        const auto part = flat.subview(parameter.offset, parameter.count);
        values.insert(values.end(), part.begin(), part.end());
    }
    return values;
}

std::vector<float> computed_with(const train::ParameterStore<HostSpace>& store,
                                 train::WeightSource& weights) {
    std::vector<float> flat(store.table().flat_size());
    const auto& all = store.table().all();
    for (auto parameter = all.rbegin(); parameter != all.rend(); ++parameter) {
        weights.need(parameter->offset);
        with_element(Types<float, bf16>{}, store.precision(), [&]<class T>() {
            const auto values = store.compute<T>(parameter->offset, parameter->count);
            std::ranges::transform(values, &flat[parameter->offset],
                                   [](T value) { return static_cast<float>(value); });
        });
    }
    return without_gaps(store.table(), view_of(flat));
}

void restore(const Snapshot& snapshot, const train::RunTensors& tensors) {
    const float* from = snapshot.weights.data();
    for (const train::Parameter& parameter : tensors.table.all()) {
        std::copy_n(from, parameter.count, tensors.master.begin() + parameter.offset);
        from += parameter.count;
    }
    for (std::size_t i = 0; i < snapshot.optimizer.size(); ++i) {
        std::copy(snapshot.optimizer[i].begin(), snapshot.optimizer[i].end(),
                  tensors.optimizer[i].values.begin());
        std::copy(snapshot.codes[i].begin(), snapshot.codes[i].end(),
                  tensors.optimizer[i].codes.begin());
    }
}

// Observes, saves and validates for one rank.
class Witness final : public train::TrainingObserver,
                      public train::CheckpointSink,
                      public train::Validator {
public:
    Witness(const RunSetup& setup, RankHandle handle, train::ForwardBackward& model,
            train::Engine& engine, RankRun& run)
        : setup_(setup), handle_(handle), model_(model), engine_(engine), run_(run) {}

    void on_step(const train::StepReport& report) override {
        run_.steps.push_back(report);
        if (setup_.on_step) setup_.on_step(report, handle_);
    }
    void on_validation(const train::ValidationReport& report) override {
        run_.validations.push_back(report);
    }
    void on_epoch(std::int64_t epoch) override { run_.epochs.push_back(epoch); }

    void save(train::CheckpointKind kind, const train::TrainerState& state) override {
        if (copy_) {
            const Snapshot kept = snapshot(kind, state);
            if (kept.weights != run_.saves.back().weights ||
                kept.optimizer != run_.saves.back().optimizer ||
                kept.codes != run_.saves.back().codes)
                ++run_.changed_copies;
        }
        copy_.emplace(engine_.copy_for_save());
        run_.saves.push_back(snapshot(kind, state));
    }
    void check() override {
        if (setup_.check_saves) setup_.check_saves(run_);
    }
    void finish() override { ++run_.finishes; }

    std::optional<train::ValidationReport> evaluate(const train::StopFlag&) override {
        if (setup_.abandons && setup_.abandons(run_.validations.size())) return std::nullopt;
        const kernels::LossSums sums =
            evaluated(model_, ToySource::batch_of({100, 101, 102}), engine_.weights());
        double loss = sums.nll / sums.tokens;
        if (setup_.validation_loss) loss = setup_.validation_loss(run_.validations.size());
        train::ValidationReport report;
        report.metrics = {
            {"loss", loss}, {"ppl", std::exp(loss)}, {"token_acc", sums.correct / sums.tokens}};
        return report;
    }

private:
    Snapshot snapshot(train::CheckpointKind kind, const train::TrainerState& state) const {
        Snapshot snapshot{kind, state, without_gaps(copy_->table, copy_->master), {}, {}};
        for (const auto& tensor : copy_->optimizer) {
            snapshot.optimizer.push_back(copy(tensor.values));
            snapshot.codes.emplace_back(tensor.codes.begin(), tensor.codes.end());
        }
        return snapshot;
    }

    std::optional<train::RunTensors> copy_;
    const RunSetup& setup_;
    RankHandle handle_;
    train::ForwardBackward& model_;
    train::Engine& engine_;
    RankRun& run_;
};

void run_rank(const RunSetup& setup, comm::Communicator& communicator, RankRun& run) {
    const int rank = communicator.rank();
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, rank);
    auto table = ToyModel::make_table();
    if (setup.sharing > 1) {
        table.pad_for(setup.sharing);
        table.share_among(setup.sharing, setup.stage);
    }
    const std::string& folder = setup.options.optimizer.offload_dir;
    const auto file = folder.empty() ? nullptr : std::make_shared<ScratchFile>(folder);
    const train::ParameterStore<HostSpace> store(
        table, setup.precision, file ? train::Master::stored : train::Master::kept,
        train::owned_parts(table, setup.options.reducer, rank % setup.sharing),
        train::plan_segments(table, setup.options.reducer), train::Gradients::kept, file);
    ToyModel toy(table, store, {setup.dropout});
    // Every rank begins with other weights, so that rank 0's must replace them.
    toy.initialize(setup.options.seed + static_cast<std::uint64_t>(rank));
    train::StopFlag stop{false};
    const RankHandle handle{rank, stop, store};
    const auto wrapper = setup.wrap ? setup.wrap(toy, handle) : nullptr;
    train::ForwardBackward& model = wrapper ? *wrapper : static_cast<train::ForwardBackward&>(toy);
    ToySource source({setup.world, rank, setup.options.lanes, setup.rows, setup.batchsize});
    train::DeviceEngine<device::CpuContext> engine(
        setup.options, {context, communicator, communicator, trace, model, store});
    EngineAhead ahead(engine);
    const bool late = setup.results == RunSetup::Results::a_step_late;
    train::Engine& trained = late ? static_cast<train::Engine&>(ahead) : engine;
    if (setup.resume) {
        restore(*setup.resume, engine.fetch());
        engine.write_back();
    }
    Witness witness(setup, handle, model, engine, run);

    std::optional<train::TrainerState> resume;
    if (setup.resume) resume = setup.resume->state;
    train::Trainer trainer(setup.options,
                           {trained,
                            communicator,
                            trace,
                            source,
                            witness,
                            witness,
                            &witness,
                            stop,
                            nullptr,
                            {},
                            -1,
                            comm::RowCounts::own,
                            setup.weights_are_sound},
                           resume);
    run.reason = trainer.run();
    run.state = trainer.state();
    run.weights = computed_with(store, engine.weights());
    run.rows = source.given();
}

}  // namespace

std::vector<RankRun> run_training(const RunSetup& setup) {
    std::vector<RankRun> runs(static_cast<std::size_t>(setup.world));
    comm::ThreadWorld slow(setup.world);
    comm::run_as_threads(setup.world, [&](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        const auto joined = setup.slowness ? slow_join(slow, rank, *setup.slowness) : nullptr;
        run_rank(setup, joined ? *joined : communicator, runs[static_cast<std::size_t>(rank)]);
    });
    return runs;
}

}  // namespace lockstep::tests
