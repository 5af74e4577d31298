// SPDX-License-Identifier: Apache-2.0
#include "model/devices/dry_model.hpp"

#include <algorithm>
#include <array>

#include "model/architectures.hpp"
#include "model/blocks/stage_model.hpp"
#include "model/blocks/transformer.hpp"
#include "model/devices/gpu_heads.hpp"
#include "model/devices/model_store.hpp"
#include "runtime/device/dry_context.hpp"
#include "runtime/kernels/cuda/attention/attention_scratch.hpp"
#include "runtime/kernels/cuda/matmul/product_workspace.hpp"
#include "runtime/train/step/dry_step_inl.hpp"

// Instantiates the templates of the *_inl.hpp files and of the blocks for devices that compute
// nothing.
namespace lockstep::model {

namespace {

train::RaggedTokens side_of(std::int64_t total, std::int64_t sequences, std::int32_t longest) {
    if (total == 0) return {};
    const auto tokens = static_cast<std::size_t>(total);
    train::RaggedTokens side;
    side.tokens.resize(tokens);
    side.offsets.resize(static_cast<std::size_t>(sequences) + 1);
    side.longest = longest;
    return side;
}

train::Batch batch_of(const train::BatchShape& shape) {
    train::Batch batch;
    batch.source = side_of(shape.source_total, shape.sequences, shape.longest_source);
    batch.target = side_of(shape.target_total, shape.sequences, shape.longest_target);
    batch.labels.resize(batch.target.tokens.size());
    batch.rows.resize(static_cast<std::size_t>(shape.sequences));
    batch.label_starts.resize(batch.rows.size());
    batch.last_labels.resize(batch.rows.size());
    return batch;
}

// Tensor ranks have a token each.
train::Batch smallest_batch(const ModelConfig& config, std::int64_t tokens) {
    const std::int64_t source = has_encoder(config) ? 1 : 0;
    return batch_of({source * tokens, tokens, 1, static_cast<std::int32_t>(source), 1});
}

template <class Like>
class DryModelLike final : public DryModel {
public:
    using Ctx = device::DryContext<Like>;

    DryModelLike(const ModelConfig& config, train::Precision precision, const RecomputePlan& plan,
                 const train::TensorSlice& slice, const train::PipelineStage& stage)
        : config_(config),
          plan_(plan),
          tensor_{slice, nullptr},
          stage_(stage),
          store_(parameter_table(config, slice, stage), precision),
          frozen_(make_frozen_store<device::DrySpace>(frozen_table(config), precision)) {}

    std::size_t training_bytes(const train::BatchShape& shape, kernels::Into into,
                               std::int64_t micro_batches) override {
        if (!stage_.is_whole())
            return trained_stage(shape, micro_batches).model->peak_activation_bytes();
        return trained(shape, into)->peak_activation_bytes();
    }
    double multiply_adds(const train::BatchShape& shape) override {
        ctx_.multiply_adds = 0;
        if (!stage_.is_whole())
            (void)trained_stage(shape, 1);
        else
            (void)trained(shape, kernels::Into::overwrite);
        return ctx_.multiply_adds;
    }
    std::size_t evaluation_bytes(const train::BatchShape& shape) override {
        if (!stage_.is_whole()) return evaluation_bytes_of_stage(shape);
        const auto model = make_model<Ctx>(config_, store_, ctx_, plan_, frozen_.get(), &tensor_);
        std::vector<kernels::LossSums> losses(static_cast<std::size_t>(shape.target_total));
        model->evaluate(batch_of(shape), losses.data());
        return model->peak_activation_bytes();
    }
    // The totals alone determine the shapes of the products on the CPU.
    train::BatchShape launched(const train::BatchShape& shape) const override {
        if (std::is_same_v<Like, device::CpuTraits>)
            return {shape.source_total, shape.target_total};
        return {shape.source_total, shape.target_total,
                static_cast<std::int64_t>(
                    launched_sequences<Ctx>(static_cast<std::size_t>(shape.sequences))),
                launched_length<Ctx>(shape.longest_source),
                launched_length<Ctx>(shape.longest_target)};
    }
    std::size_t constant_bytes() const override {
        std::int64_t elements = ends_with_sum(config_, stage_) ? config_.embedding_size : 0;
        if (config_.positions == Positions::sinusoidal)
            elements += config_.n_positions * config_.embedding_size;
        if (config_.excluded_token >= 0) elements += config_.vocabulary;
        const std::size_t floats = rotary_frequencies(config_).size() +
                                   static_cast<std::size_t>(unread_elements(config_, stage_));
        return floats * sizeof(float) + static_cast<std::size_t>(elements) *
                                            (store_.precision() == train::Precision::fp32 ? 4 : 2);
    }
    std::size_t frozen_bytes() const override {
        if (!frozen_) return 0;
        return frozen_->table().flat_size() *
               (store_.precision() == train::Precision::fp32 ? 4 : 2);
    }
    std::size_t scratch_bytes(const train::BatchShape& shape) const override {
        if (std::is_same_v<Like, device::CpuTraits>) return 0;
        std::int64_t most = kernels::cuda::product_workspace_bytes;
        const Widths all = widths(config_);
        const bool narrow = store_.precision() != train::Precision::fp32;
        const bool shared = all.kv_heads < all.heads;
        const bool by_tensor_cores =
            narrow && config_.parts.window == 0 && kernels::cuda::mma_takes_head(all.head_dim);
        for (const BackwardShape& attention : attentions(launched(shape))) {
            std::int64_t bytes = delta_bytes(attention);
            if (shared) bytes += key_gradient_bytes(attention, all.head_dim, narrow ? 2 : 4);
            if (by_tensor_cores)
                bytes += heads_together(attention, kernels::cuda::usual_score_bytes) *
                         score_bytes_of_head(attention);
            most = std::max(most, bytes);
        }
        return static_cast<std::size_t>(most);
    }
    std::size_t batch_bytes(const train::BatchShape& shape) override {
        return placed_bytes<Ctx>(batch_of(shape));
    }
    train::DryStep step(const train::TrainOptions& options, train::Master master,
                        const train::DryRank& place) override {
        const int sharing = train::sharing_ranks(options.zero, place.ranks);
        const auto store = make_store<device::DrySpace>(
            config_, store_.precision(), master,
            {place.ranks, sharing, place.rank % sharing, options.reducer, options.zero.stage,
             tensor_.slice, stage_});
        if (!stage_.is_whole()) return step_of_stage(options, place, store);
        const auto model = make_model<Ctx>(config_, store, ctx_, plan_, frozen_.get(), &tensor_);
        return train::dry_step(ctx_, options, place, *model, store,
                               smallest_batch(config_, tensor_.slice.size),
                               {parameter_table(config_), tensor_.slice});
    }
    std::int64_t row_bytes(const train::BatchShape& shape) override {
        if (!stage_.is_whole()) return trained_stage(shape, 1).sent_bytes;
        comm::Tape tape;
        comm::TapedCollectives<device::DrySpace> ranks(
            tape, {comm::TapedGroup::tensor, tensor_.slice.rank, tensor_.slice.size});
        tensor_.collectives = &ranks;
        (void)trained(shape, kernels::Into::overwrite);
        tensor_.collectives = nullptr;
        std::int64_t bytes = 0;
        for (const comm::TapeEntry& entry : tape.entries)
            bytes += comm::bytes_sent(entry, comm::HalfSums::halves);
        return bytes;
    }

private:
    std::unique_ptr<train::ForwardBackward> trained(const train::BatchShape& shape,
                                                    kernels::Into into) {
        const train::Batch batch = batch_of(shape);
        auto model = make_model<Ctx>(config_, store_, ctx_, plan_, frozen_.get(), &tensor_);
        const kernels::StepState state;
        train::NoSink sink;
        model->upload(batch);
        model->train(&state, nullptr, into, sink);
        return model;
    }

    struct TrainedStage {
        std::unique_ptr<train::StagePasses<device::DrySpace>> model;
        std::int64_t sent_bytes = 0;
    };

    // Keeps as many micro-batches as the stage does in a step.
    TrainedStage trained_stage(const train::BatchShape& shape, std::int64_t micro_batches) {
        const train::Batch batch = batch_of(shape);
        TrainedStage made{make_stage<Ctx>(config_, store_, ctx_, plan_, stage_)};
        const kernels::StepState state;
        const auto kept =
            static_cast<std::size_t>(std::max<std::int64_t>(1, stage_.in_flight(micro_batches)));
        const auto count = [&made](const comm::Range<device::DrySpace>& rows) {
            made.sent_bytes += static_cast<std::int64_t>(rows.bytes());
        };
        (void)made.model->arriving(batch);
        for (std::size_t slot = 0; slot < kept; ++slot)
            count(made.model->forward(slot, batch, &state));
        for (std::size_t slot = 0; slot < kept; ++slot)
            count(made.model->backward(slot, &state, nullptr, kernels::Into::overwrite));
        return made;
    }
    std::size_t evaluation_bytes_of_stage(const train::BatchShape& shape) {
        const train::Batch batch = batch_of(shape);
        const auto model = make_stage<Ctx>(config_, store_, ctx_, plan_, stage_);
        std::vector<kernels::LossSums> losses(static_cast<std::size_t>(shape.target_total));
        (void)model->arriving(batch);
        (void)model->evaluate_rows(batch, losses.data());
        return model->peak_activation_bytes();
    }
    train::DryStep step_of_stage(const train::TrainOptions& options, const train::DryRank& place,
                                 const train::ParameterStore<device::DrySpace>& store) {
        const auto model = make_stage<Ctx>(config_, store, ctx_, plan_, stage_);
        const bool tied = config_.parts.own_head == Has::no;
        return train::dry_step(ctx_, options, place, *model, store, smallest_batch(config_, 1),
                               {.stage = stage_,
                                .passes = model.get(),
                                .table = tied ? parameter_table(config_).all().back().name : ""});
    }

    using BackwardShape = kernels::cuda::BackwardShape;

    // Returns the shapes of the encoder's attention, of the decoder's, and of the decoder's over
    // the encoder's output.
    std::array<BackwardShape, 3> attentions(const train::BatchShape& s) const {
        return {BackwardShape{config_.heads, s.source_total, s.source_total, s.sequences,
                              s.longest_source},
                {config_.heads, s.target_total, s.target_total, s.sequences, s.longest_target},
                {config_.heads, s.target_total, s.source_total, s.sequences, s.longest_target}};
    }

    const ModelConfig config_;
    const RecomputePlan plan_;
    TensorRanks<device::DrySpace> tensor_;
    const train::PipelineStage stage_;
    Ctx ctx_;
    const train::ParameterStore<device::DrySpace> store_;
    const std::unique_ptr<const train::ParameterStore<device::DrySpace>> frozen_;
};

}  // namespace

std::unique_ptr<DryModel> make_dry_model(const ModelConfig& config, train::Precision precision,
                                         DeviceKind device, const RecomputePlan& plan,
                                         const train::TensorSlice& slice,
                                         const train::PipelineStage& stage) {
    if (device == DeviceKind::cpu)
        return std::make_unique<DryModelLike<device::CpuTraits>>(config, precision, plan, slice,
                                                                 stage);
    require_gpu_heads(config);
    return std::make_unique<DryModelLike<device::CudaTraits>>(config, precision, plan, slice,
                                                              stage);
}

}  // namespace lockstep::model
