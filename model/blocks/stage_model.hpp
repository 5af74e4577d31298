// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/blocks/output_head.hpp"
#include "model/blocks/stage_block.hpp"
#include "model/pipeline_division.hpp"
#include "runtime/core/named_range.hpp"
#include "runtime/train/step/stage_passes.hpp"

namespace lockstep::model {

// Some neighbouring layers of a decoder, with the embeddings or the head at its ends. Each
// micro-batch that waits for its backward has a slot with memory of its own.
template <class Ctx, class T>
class StageModel final : public train::StagePasses<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;
    using Matrix = MatrixView<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Rows = typename train::StagePasses<Space>::Rows;
    using Block = StageBlock<Ctx, T>;

    StageModel(const ModelConfig& config, const train::ParameterStore<Space>& store, Ctx& ctx,
               const RecomputePlan& plan, const train::PipelineStage& stage)
        : config_(config),
          stage_(stage),
          table_(store.table()),
          weights_(bind_weights<T>(ctx, config_, table_, store, nullptr, {}, stage)),
          settings_(stack_settings(config, StackKind::decoder)),
          block_{weights_.decoder,
                 weights_.embeddings,
                 weights_.d_embeddings,
                 layers_of(config, stage),
                 stage,
                 config.embedding_size},
          plan_(plan),
          ctx_(ctx) {}

    const train::ParameterTable& parameters() const noexcept override { return table_; }
    train::ModelSpans take_spans() override { return std::exchange(spans_, {}); }
    // Slots take their memory when they are first used.
    void reserve(std::size_t) override {}
    std::size_t peak_activation_bytes() const noexcept override {
        std::size_t bytes = arriving_.size() * sizeof(T);
        for (const auto& slot : slots_) bytes += slot->arena.peak_bytes();
        return bytes;
    }

    Rows arriving(const train::Batch& batch) override {
        const auto count = static_cast<std::size_t>(batch.target.total() * config_.embedding_size);
        if (arriving_.size() < count) arriving_ = device::Buffer<T, Space>(count);
        return {arriving_.view().data(), count, dtype_of<T>};
    }

    Rows forward(std::size_t number, const train::Batch& batch,
                 const kernels::StepState* state) override {
        const NamedRange range("forward");
        device::Stopwatch<Ctx> watch(ctx_);
        while (slots_.size() <= number) slots_.push_back(std::make_unique<Slot>(ctx_));
        Slot& slot = *slots_[number];
        place(slot, batch);
        const Matrix x = stage_.is_first() ? Matrix() : arrived(slot);
        slot.output = block_.forward(pass(slot, state), x, slot.saved);
        spans_.forward.push_back(watch.lap());
        return stage_.is_last() ? none() : rows(slot.output);
    }

    Rows backward(std::size_t number, const kernels::StepState* state, kernels::LossSums* sums,
                  kernels::Into into) override {
        const NamedRange range("backward");
        Slot& slot = *slots_.at(number);
        const Matrix d_output = stage_.is_last() ? d_loss(slot, state, sums, into) : arrived(slot);
        device::Stopwatch<Ctx> watch(ctx_);
        StackPass<Ctx, T> run = pass(slot, state);
        run.gradients_into = into;
        const Matrix d_input = block_.backward(run, slot.saved, d_output);
        spans_.backward.push_back(watch.lap());
        return stage_.is_first() ? none() : rows(d_input);
    }

    Rows evaluate_rows(const train::Batch& batch, kernels::LossSums* losses) override {
        if (slots_.empty()) slots_.push_back(std::make_unique<Slot>(ctx_));
        Slot& slot = *slots_.front();
        place(slot, batch);
        const Matrix x = stage_.is_first() ? Matrix() : arrived(slot);
        const Constant output = block_.evaluate(pass(slot, nullptr), x);
        if (!stage_.is_last()) return rows(output);
        OutputHead<Ctx, T>::evaluate(ctx_, slot.arena, weights_.head, weights_.class_bias.view(),
                                     output, slot.labels, losses);
        return none();
    }

private:
    struct Slot {
        explicit Slot(Ctx& ctx) : upload(ctx) {}

        device::Upload<Ctx> upload;
        device::Arena<Space> arena;
        Ragged<Space> tokens;
        View<const std::int32_t, Space> labels;
        typename Block::Saved saved;
        Constant output;
    };

    static Rows none() noexcept { return {nullptr, 0, dtype_of<T>}; }
    static Rows rows(Constant matrix) {
        require(matrix.stride == matrix.cols, "rows for another stage have gaps");
        return {const_cast<T*>(matrix.data), static_cast<std::size_t>(matrix.rows * matrix.cols),
                dtype_of<T>};
    }

    // Copies what came from another stage to the slot.
    Matrix arrived(Slot& slot) {
        const std::int64_t d = config_.embedding_size;
        const Matrix own = slot.arena.template take_matrix<T>(slot.tokens.total, d);
        const auto count = static_cast<std::size_t>(own.rows * own.cols);
        const View<const T, Space> from = arriving_.view();
        device::copy(ctx_, from.subview(0, count), View<T, Space>(own.data, count));
        return own;
    }

    void place(Slot& slot, const train::Batch& batch) {
        require(!batch.empty(), "an empty batch has no loss");
        slot.arena.reset();
        slot.saved = {};
        slot.upload.begin(placed_bytes<Ctx>(batch));
        slot.tokens = upload_side(slot.upload, batch.target, upload_rows(slot.upload, batch.rows));
        kernels::FollowingLabels<Space> following;
        if (batch.last_labels.empty()) {
            slot.labels = slot.upload.add(view_of(batch.labels));
        } else {
            const std::size_t sequences = launched_sequences<Ctx>(batch.rows.size());
            following = {slot.tokens.tokens,
                         slot.upload.add(view_of(batch.label_starts), sequences),
                         slot.upload.add(view_of(batch.last_labels), sequences),
                         {}};
        }
        slot.upload.finish();
        if (!batch.last_labels.empty()) {
            following.labels =
                slot.arena.template take<std::int32_t>(static_cast<std::size_t>(slot.tokens.total));
            slot.labels = following.labels;
        }
        locate_tokens(ctx_, slot.arena, slot.tokens, following);
    }

    StackPass<Ctx, T> pass(Slot& slot, const kernels::StepState* state) {
        return {ctx_, slot.arena, settings_, slot.tokens, nullptr, state, plan_};
    }

    Matrix d_loss(Slot& slot, const kernels::StepState* state, kernels::LossSums* sums,
                  kernels::Into into) {
        const Matrix d_output =
            slot.arena.template take_matrix<T>(slot.output.rows, slot.output.cols);
        OutputHead<Ctx, T>::train(ctx_, slot.arena, state, weights_.head,
                                  weights_.class_bias.view(), slot.output, slot.labels,
                                  {config_.label_smoothing, config_.z_loss}, d_output,
                                  weights_.d_head, into, sums, spans_);
        return d_output;
    }

    const ModelConfig config_;
    const train::PipelineStage stage_;
    const train::ParameterTable table_;
    const TransformerWeights<T, Space> weights_;
    const StackSettings settings_;
    const Block block_;
    const RecomputePlan plan_;
    Ctx& ctx_;
    std::vector<std::unique_ptr<Slot>> slots_;
    device::Buffer<T, Space> arriving_;
    train::ModelSpans spans_;
};

template <class Ctx>
std::unique_ptr<train::StagePasses<typename Ctx::Space>> make_stage(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const RecomputePlan& plan, const train::PipelineStage& stage) {
    using Made = std::unique_ptr<train::StagePasses<typename Ctx::Space>>;
    return train::with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() -> Made {
        return std::make_unique<StageModel<Ctx, T>>(config, store, ctx, plan, stage);
    });
}

}  // namespace lockstep::model
