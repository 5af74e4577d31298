// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/step/dry_step_inl.hpp"

// Ranks of runs that need not exist, and the same ones for real.
namespace lockstep::tests {

// All sizes are multiples of 256, so that the flat buffers have no gaps.
inline train::ParameterTable table_without_gaps() {
    train::ParameterTable table;
    table.add("matrix", {32, 48}, 0, train::WeightDecay::apply);
    table.add("bias", {256}, 0, train::WeightDecay::skip);
    table.add("qkv", {48, 16}, 0, train::WeightDecay::apply, {16, 16, 16});
    table.add({.name = "column", .shape = {256, 1}, .block = 1, .tied = train::Tied::yes});
    return table;
}

// Needs the blocks and reports their gradients as a model does, and computes nothing.
template <class Space>
class Blocks final : public train::ForwardBackward {
public:
    explicit Blocks(const train::ParameterStore<Space>& store) : store_(store) {
        int block = -1;
        for (const train::Parameter& parameter : store.table().all()) {
            if (parameter.block != block) blocks_.push_back(parameter.offset);
            block = parameter.block;
        }
    }

    const train::ParameterTable& parameters() const noexcept override { return store_.table(); }
    void reserve(std::size_t) override {}
    train::UploadedShape upload(const train::Batch&) override { return {}; }
    void train(const kernels::StepState*, kernels::LossSums*, kernels::Into,
               train::GradientSink& sink) override {
        for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) sink.need(*block);
        sink.begin_backward();
        sink.loss_done();
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            const std::size_t end =
                i + 1 < blocks_.size() ? blocks_[i + 1] : store_.table().flat_size();
            sink.need(blocks_[i]);
            sink.ready(blocks_[i], end - blocks_[i]);
        }
    }
    void evaluate(const train::Batch&, kernels::LossSums*, train::WeightSource&) override {}
    train::ModelSpans take_spans() override { return {}; }
    std::size_t peak_activation_bytes() const noexcept override { return 0; }

private:
    const train::ParameterStore<Space>& store_;
    std::vector<std::size_t> blocks_;  // their first elements
};

inline train::Batch one_row() {
    train::Batch batch;
    batch.rows = {0};
    return batch;
}

// A run of ranks that need not exist.
struct Run {
    train::TrainOptions options = {};
    train::Precision precision = train::Precision::bf16;
    train::Master master = train::Master::kept;
    int ranks = 1;
};

inline train::ParameterTable table_of(const Run& run) {
    train::ParameterTable table = table_without_gaps();
    if (run.ranks > 1) table.pad_for(run.ranks);
    table.share_among(train::sharing_ranks(run.options.zero, run.ranks), run.options.zero.stage);
    return table;
}

template <class Space>
train::ParameterStore<Space> store_of(const Run& run, int rank) {
    const train::ParameterTable table = table_of(run);
    return {table, run.precision, run.master,
            train::owned_parts(table, run.options.reducer, rank % table.sharing()),
            train::plan_segments(table, run.options.reducer)};
}

template <class Like>
train::DryStep dry(const Run& run, int rank = 0) {
    device::DryContext<Like> context;
    const auto store = store_of<device::DrySpace>(run, rank);
    Blocks<device::DrySpace> model(store);
    train::TrainOptions options = run.options;
    if (options.lanes < run.ranks) options.lanes = run.ranks;
    return train::dry_step(context, options, {rank, run.ranks}, model, store, one_row());
}

inline train::ZeroOptions zero(int stage, int ranks = 0) { return {stage, ranks}; }

inline Run sharing(int stage, int ranks) {
    Run run{.ranks = ranks};
    run.options.zero = zero(stage);
    return run;
}

}  // namespace lockstep::tests
