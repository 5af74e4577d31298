// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "model/blocks/layout.hpp"
#include "model/blocks/lent_gradients.hpp"
#include "model/blocks/output_head.hpp"
#include "model/blocks/stack_block.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/core/named_range.hpp"
#include "runtime/kernels/deferred_sums.hpp"

namespace lockstep::model {

// Tells the sink that backward needs a block, and that the gradients of the flat buffer are final:
// block by block, or several blocks at once.
class BlockProgress {
public:
    // Backward begins with the first block.
    BlockProgress(const train::ParameterTable& table, train::GradientSink& sink)
        : table_(table), sink_(sink) {
        sink_.need(0);
    }

    // Counts one more block with its gradients. Returns true if the sink shall be told of all
    // blocks that wait: the sink waits for them, there are `max_blocks` of them, or they are the
    // last ones.
    bool pass_block(int max_blocks) {
        const auto& all = table_.all();
        require(next_ < all.size(), "backward finished more blocks than there are");
        const int block = all[next_].block;
        while (next_ < all.size() && all[next_].block == block) ++next_;
        end_ = next_ < all.size() ? all[next_].offset : table_.flat_size();
        return next_ == all.size() || ++waiting_ >= max_blocks || sink_.waits_for(end_);
    }
    void tell() {
        sink_.ready(begin_, end_ - begin_);
        begin_ = end_;
        waiting_ = 0;
    }
    // Returns the first element of the blocks that the sink was not told of, and the end of the
    // blocks that were passed.
    std::size_t begin() const noexcept { return begin_; }
    std::size_t end() const noexcept { return end_; }
    // Tells the sink that backward reads the next block, if there is one.
    void begin_next() {
        if (next_ < table_.all().size()) sink_.need(end_);
    }

private:
    const train::ParameterTable& table_;
    train::GradientSink& sink_;
    std::size_t next_ = 0, begin_ = 0, end_ = 0;
    int waiting_ = 0;  // number of blocks
};

// Tells which blocks forward or an evaluation is about to read, from the last one of the table on.
class BlockNeeds {
public:
    BlockNeeds(const train::ParameterTable& table, train::WeightSource& weights)
        : table_(table), weights_(weights), left_(table.all().size()) {}

    // Returns the element behind the block.
    std::size_t begin_block() {
        const auto& all = table_.all();
        require(left_ > 0, "forward began more blocks than there are");
        const std::size_t end = left_ < all.size() ? all[left_].offset : table_.flat_size();
        const int block = all[left_ - 1].block;
        while (left_ > 0 && all[left_ - 1].block == block) --left_;
        weights_.need(all[left_].offset);
        return end;
    }

private:
    const train::ParameterTable& table_;
    train::WeightSource& weights_;
    std::size_t left_;  // parameters of blocks that have not begun
};

inline void check_side(const train::RaggedTokens& side, std::size_t rows,
                       std::int64_t n_positions) {
    require(side.offsets.size() == rows + 1 && side.real() <= side.total(),
            "the vectors of a batch disagree about its size");
    require(side.longest <= n_positions, "a row is longer than the model's n_positions");
}

template <class Ctx, class T>
class Transformer final : public train::ForwardBackward {
public:
    using Space = typename Ctx::Space;
    using Matrix = MatrixView<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Stacks = StackBlock<Ctx, T>;

    Transformer(const ModelConfig& config, const train::ParameterStore<Space>& store, Ctx& ctx,
                const RecomputePlan& plan, const train::ParameterStore<Space>* frozen,
                const TensorRanks<Space>* tensor)
        : config_(config),
          tensor_(tensor != nullptr && !tensor->slice.is_whole() ? tensor : nullptr),
          slice_(tensor_ != nullptr ? tensor_->slice : train::TensorSlice()),
          table_(store.table()),
          weights_(bind_weights<T>(ctx, config_, table_, store, frozen, slice_)),
          encoder_(stack_settings(config, StackKind::encoder, slice_)),
          decoder_(stack_settings(config, StackKind::decoder, slice_)),
          plan_(plan),
          lent_(frozen != nullptr ? LentGradients<Ctx>() : LentGradients<Ctx>(store)),
          tables_(trained_tables(config)),
          own_head_(has_own_head(config)),
          head_end_(tables_.head ? end_of_first_block(table_) : 0),
          moving_weights_(store.weight_placement().has_slots()),
          ctx_(ctx),
          upload_(ctx) {}

    const train::ParameterTable& parameters() const noexcept override { return table_; }
    std::size_t peak_activation_bytes() const noexcept override { return arena_.peak_bytes(); }
    train::ModelSpans take_spans() override { return std::exchange(spans_, {}); }

    void reserve(std::size_t activation_bytes) override { arena_.reserve(activation_bytes); }

    train::UploadedShape upload(const train::Batch& batch) override {
        check(batch);
        arena_.reset();
        upload_.begin(placed_bytes<Ctx>(batch));
        const auto rows = upload_rows(upload_, batch.rows);
        sides_ = {model::upload_side(upload_, batch.source, rows),
                  model::upload_side(upload_, batch.target, rows),
                  {},
                  {},
                  {}};
        place_labels(batch);
        if (tensor_ != nullptr) place_own_part(batch);
        upload_.finish();
        using Labels = train::UploadedShape::Labels;
        return {{sides_.source.total, sides_.target.total, static_cast<std::int64_t>(rows.size()),
                 sides_.source.longest, sides_.target.longest},
                sides_.labels.empty() ? Labels::following : Labels::given,
                arena_.moves() + upload_.moves()};
    }

    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override {
        device::Stopwatch<Ctx> watch(ctx_);
        const Sides sides = placed_sides();
        Saved saved;
        if (into == kernels::Into::overwrite) lent_.lend(arena_);
        forward(sides, state, saved, sink);
        spans_.forward.push_back(watch.lap());

        sink.begin_backward();
        const Matrix d_output =
            arena_.template take_matrix<T>(saved.output.rows, saved.output.cols);
        lent_.use_from(arena_, head_end_);  // the loss writes no gradient but the head's
        OutputHead<Ctx, T>::train(ctx_, arena_, state, weights_.head, weights_.class_bias.view(),
                                  saved.output, sides.own.labels,
                                  {config_.label_smoothing, config_.z_loss}, d_output,
                                  weights_.d_head, into, sums, spans_);
        lent_.use_none(arena_);
        watch.lap();

        const InputGradient<Space> input = input_gradient(sink.loss_done(), into);
        backward(sides, state, saved, d_output, into, sink, input);
        lent_.take_back(arena_);
        spans_.backward.push_back(watch.lap());
    }

    void evaluate(const train::Batch& batch, kernels::LossSums* losses,
                  train::WeightSource& weights) override {
        BlockNeeds needs(table_, weights);
        const auto begin = [&needs] { needs.begin_block(); };
        upload(batch);
        const Sides sides = placed_sides();
        if (tables_.embeddings) begin();
        typename Stacks::Calls calls;
        if (moving_weights_) calls.begin = begin;
        Constant memory;
        if (weights_.encoder) {
            memory = Stacks::evaluate(encoder_run(sides, nullptr), *weights_.encoder,
                                      weights_.embeddings, {}, calls);
        }
        const Constant output = Stacks::evaluate(decoder_run(sides, nullptr), weights_.decoder,
                                                 weights_.embeddings, memory, calls);
        if (tables_.head) begin();
        kernels::LossSums* const own =
            tensor_ == nullptr ? losses : losses + slice_.rank * sides.own.target.total;
        OutputHead<Ctx, T>::evaluate(ctx_, arena_, weights_.head, weights_.class_bias.view(),
                                     output, sides.own.labels, own);
        if (tensor_ != nullptr) tensor_->gather_losses(own, losses, sides.own.target.total);
    }

private:
    // A part of the batch's tokens.
    struct Part {
        Ragged<Space> source, target;
        View<const std::int32_t, Space> labels;
    };
    struct Sides {
        Ragged<Space> source, target;
        View<const std::int32_t, Space> labels;
        kernels::FollowingLabels<Space> following;  // used if the labels follow from the tokens
        Part own;                                   // this rank's part; all if it computes alone
    };

    struct Saved {
        typename Stacks::Saved encoder, decoder;
        Constant memory, output;
        Matrix d_memory;
        typename device::Arena<Space>::Mark before_decoder;
    };

    // Uploads the labels unless they follow from the tokens.
    void place_labels(const train::Batch& batch) {
        if (batch.last_labels.empty()) {
            sides_.labels = upload_.add(view_of(batch.labels));
            return;
        }
        const std::size_t sequences = launched_sequences<Ctx>(batch.rows.size());
        sides_.following = {sides_.target.tokens,
                            upload_.add(view_of(batch.label_starts), sequences),
                            upload_.add(view_of(batch.last_labels), sequences),
                            {}};
    }

    // Returns the sides with the values that are calculated on the device after the batch has
    // arrived.
    Sides placed_sides() {
        Sides sides = sides_;
        if (sides.labels.empty()) {
            sides.following.labels =
                arena_.template take<std::int32_t>(static_cast<std::size_t>(sides.target.total));
            sides.labels = sides.following.labels;
        }
        locate_tokens(ctx_, arena_, sides.source);
        locate_tokens(ctx_, arena_, sides.target, sides.following);
        if (tensor_ == nullptr) {
            sides.own = {sides.source, sides.target, sides.labels};
            return sides;
        }
        sides.own.source = part_of(sides.source, sides.own.source.offsets);
        sides.own.target = part_of(sides.target, sides.own.target.offsets);
        const auto own = static_cast<std::size_t>(sides.own.target.total);
        sides.own.labels = sides.labels.subview(static_cast<std::size_t>(slice_.rank) * own, own);
        return sides;
    }

    // Uploads how many tokens of this rank's part are not filler.
    void place_own_part(const train::Batch& batch) {
        const auto real_of = [this](const train::RaggedTokens& side) {
            const std::int64_t total = side.total() / slice_.size;
            require(total * slice_.size == side.total(), "tensor ranks do not divide the tokens");
            const std::int64_t left = side.real() - slice_.rank * total;
            return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, 0, total));
        };
        own_real_ = {batch.source.offsets.empty() ? 0 : real_of(batch.source),
                     real_of(batch.target)};
        const HostView<const std::int32_t> source(&own_real_[0], 1), target(&own_real_[1], 1);
        sides_.own.source.offsets = upload_.add(source);
        sides_.own.target.offsets = upload_.add(target);
    }

    // Returns this rank's part of a side. Its only offset is the number of real tokens.
    Ragged<Space> part_of(const Ragged<Space>& side, View<const std::int32_t, Space> real) const {
        Ragged<Space> part;
        part.offsets = real;
        part.total = side.total / slice_.size;
        if (part.total == 0) return part;
        const auto count = static_cast<std::size_t>(part.total);
        const std::size_t first = static_cast<std::size_t>(slice_.rank) * count;
        part.tokens = side.tokens.subview(first, count);
        part.coordinates = {side.coordinates.rows.subview(first, count),
                            side.coordinates.positions.subview(first, count)};
        return part;
    }

    static std::size_t end_of_first_block(const train::ParameterTable& table) {
        const auto& all = table.all();
        const auto next = std::ranges::find_if(
            all, [&](const train::Parameter& p) { return p.block != all.front().block; });
        return next == all.end() ? table.flat_size() : next->offset;
    }

    // Returns the table itself, to which the loss's part was written if the head is tied to it, or
    // the separate rows.
    InputGradient<Space> input_gradient(const train::InputRows& rows, kernels::Into into) const {
        if (!tables_.embeddings) return {{}, {}, into};
        if (own_head_ == Has::yes) return {weights_.d_embeddings, {}, into};
        if (rows.sums == nullptr) return {weights_.d_embeddings};
        const auto vocabulary = static_cast<std::size_t>(config_.vocabulary);
        const std::int64_t d = config_.embedding_size;
        return {{rows.sums, rows.count, d, d}, {rows.slots, vocabulary}};
    }

    void forward(const Sides& sides, const kernels::StepState* state, Saved& saved,
                 train::GradientSink& sink) {
        const NamedRange range("forward");
        BlockNeeds needs(table_, sink);
        const auto begin = [&] { lent_.use_from(arena_, needs.begin_block()); };
        if (tables_.embeddings) begin();
        if (weights_.encoder) {
            saved.memory = Stacks::forward(encoder_run(sides, state), *weights_.encoder,
                                           weights_.embeddings, {}, saved.encoder, begin);
        }
        // Backward of the encoder reads this when the decoder's gradients are written.
        lent_.use_none(arena_);
        saved.d_memory = arena_.template take_matrix<T>(saved.memory.rows, saved.memory.cols);
        saved.before_decoder = arena_.mark();
        saved.output = Stacks::forward(decoder_run(sides, state), weights_.decoder,
                                       weights_.embeddings, saved.memory, saved.decoder, begin);
        if (tables_.head) begin();
        lent_.use_none(arena_);
    }

    void backward(const Sides& sides, const kernels::StepState* state, const Saved& saved,
                  Matrix d_output, kernels::Into into, train::GradientSink& sink,
                  const InputGradient<Space>& input) {
        const NamedRange range("backward");
        BlockProgress progress(table_, sink);
        using Sums = kernels::DeferredSums<Ctx>;
        Sums sums(ctx_);
        const auto finish = [&] {
            if (progress.pass_block(Sums::max_blocks)) {
                sums.finish();
                if (into == kernels::Into::overwrite)
                    lent_.clear_gaps(ctx_, progress.begin(), progress.end());
                progress.tell();
            }
            progress.begin_next();
        };
        StackPass<Ctx, T> decoder = decoder_run(sides, state), encoder = encoder_run(sides, state);
        decoder.gradients_into = encoder.gradients_into = into;
        if (tables_.head) finish();
        Stacks::backward(decoder, weights_.decoder, saved.decoder, d_output, saved.memory,
                         saved.d_memory, input, finish);
        if (weights_.encoder) {
            arena_.rewind(saved.before_decoder);
            Stacks::backward(encoder, *weights_.encoder, saved.encoder, saved.d_memory, {}, {},
                             input, finish);
        }
        if (tables_.embeddings) finish();  // forward reads it first
    }

    void check(const train::Batch& batch) const {
        require(!batch.empty(), "an empty batch has no loss");
        require(batch.labels.size() == batch.target.tokens.size() &&
                    batch.label_starts.size() == batch.last_labels.size() &&
                    (batch.last_labels.empty() || batch.last_labels.size() == batch.rows.size()),
                "the vectors of a batch disagree about its size");
        if (weights_.encoder) check_side(batch.source, batch.rows.size(), config_.n_positions);
        check_side(batch.target, batch.rows.size(), config_.n_positions);
    }

    StackPass<Ctx, T> encoder_run(const Sides& sides, const kernels::StepState* state) {
        return divided({ctx_, arena_, encoder_, sides.source, nullptr, state, plan_},
                       sides.own.source);
    }
    StackPass<Ctx, T> decoder_run(const Sides& sides, const kernels::StepState* state) {
        return divided({ctx_, arena_, decoder_, sides.target, &sides.source, state, plan_},
                       sides.own.target);
    }
    StackPass<Ctx, T> divided(StackPass<Ctx, T> pass, const Ragged<Space>& own) const {
        if (tensor_ == nullptr) return pass;
        pass.tensor = tensor_;
        pass.own_part = &own;
        return pass;
    }

    const ModelConfig config_;
    const TensorRanks<Space>* const tensor_;  // null: this rank computes alone
    const train::TensorSlice slice_;
    const train::ParameterTable table_;
    const TransformerWeights<T, Space> weights_;
    const StackSettings encoder_, decoder_;
    const RecomputePlan plan_;
    const LentGradients<Ctx> lent_;
    const TrainedTables tables_;  // those that have blocks
    const Has own_head_;
    const std::size_t head_end_;  // elements of the head's block; 0 if it has none
    const bool moving_weights_;   // they lie in slots
    Ctx& ctx_;
    device::Upload<Ctx> upload_;
    device::Arena<Space> arena_;
    Sides sides_;                             // of the batch that was uploaded last
    std::array<std::int32_t, 2> own_real_{};  // of source and target, while they are uploaded
    train::ModelSpans spans_;
};

template <class Ctx>
std::unique_ptr<train::ForwardBackward> make_model(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const RecomputePlan& plan, const train::ParameterStore<typename Ctx::Space>* frozen,
    const TensorRanks<typename Ctx::Space>* tensor) {
    using Made = std::unique_ptr<train::ForwardBackward>;
    return train::with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() -> Made {
        return std::make_unique<Transformer<Ctx, T>>(config, store, ctx, plan, frozen, tensor);
    });
}

}  // namespace lockstep::model
