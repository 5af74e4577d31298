// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
                const RecomputePlan& plan, const train::ParameterStore<Space>* frozen)
        : config_(config),
          table_(store.table()),
          frozen_(frozen != nullptr),
          weights_(bind_weights<T>(ctx, config_, table_, store, frozen)),
          encoder_(stack_settings(config, StackKind::encoder)),
          decoder_(stack_settings(config, StackKind::decoder)),
          plan_(plan),
          lent_(frozen_ ? LentGradients<Ctx>() : LentGradients<Ctx>(store)),
          own_head_(config.parts.own_head),
          head_end_(own_head_ == Has::yes ? end_of_first_block(table_) : 0),
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
                  {}};
        place_labels(batch);
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
                                  saved.output, sides.labels,
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
        if (!frozen_) begin();  // the embedding table
        typename Stacks::Calls calls;
        if (moving_weights_) calls.begin = begin;
        Constant memory;
        if (weights_.encoder) {
            memory = Stacks::evaluate(encoder_run(sides, nullptr), *weights_.encoder,
                                      weights_.embeddings, {}, calls);
        }
        const Constant output = Stacks::evaluate(decoder_run(sides, nullptr), weights_.decoder,
                                                 weights_.embeddings, memory, calls);
        if (has_head_block()) begin();
        OutputHead<Ctx, T>::evaluate(ctx_, arena_, weights_.head, weights_.class_bias.view(),
                                     output, sides.labels, losses);
    }

private:
    struct Sides {
        Ragged<Space> source, target;
        View<const std::int32_t, Space> labels;
        kernels::FollowingLabels<Space> following;  // used if the labels follow from the tokens
    };

    struct Saved {
        typename Stacks::Saved encoder, decoder;
        Constant memory, output;
        Matrix d_memory;
        typename device::Arena<Space>::Mark before_decoder;
    };

    // Tells whether the head has a block of the table.
    bool has_head_block() const noexcept { return own_head_ == Has::yes && !frozen_; }

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
        return sides;
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
        if (frozen_) return {{}, {}, into};
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
        if (!frozen_) begin();  // the embedding table
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
        if (has_head_block()) begin();
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
        if (has_head_block()) finish();
        Stacks::backward(decoder, weights_.decoder, saved.decoder, d_output, saved.memory,
                         saved.d_memory, input, finish);
        if (weights_.encoder) {
            arena_.rewind(saved.before_decoder);
            Stacks::backward(encoder, *weights_.encoder, saved.encoder, saved.d_memory, {}, {},
                             input, finish);
        }
        if (!frozen_) finish();  // the embedding table, which forward reads first
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
        return {ctx_, arena_, encoder_, sides.source, nullptr, state, plan_};
    }
    StackPass<Ctx, T> decoder_run(const Sides& sides, const kernels::StepState* state) {
        return {ctx_, arena_, decoder_, sides.target, &sides.source, state, plan_};
    }

    const ModelConfig config_;
    const train::ParameterTable table_;
    const bool frozen_;  // the table has adapters alone, in blocks of layers
    const TransformerWeights<T, Space> weights_;
    const StackSettings encoder_, decoder_;
    const RecomputePlan plan_;
    const LentGradients<Ctx> lent_;
    const Has own_head_;
    const std::size_t head_end_;  // elements of its block; 0 if the table of embeddings is the head
    const bool moving_weights_;   // they lie in slots
    Ctx& ctx_;
    device::Upload<Ctx> upload_;
    device::Arena<Space> arena_;
    Sides sides_;  // of the batch that was uploaded last
    train::ModelSpans spans_;
};

template <class Ctx>
std::unique_ptr<train::ForwardBackward> make_model(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const RecomputePlan& plan, const train::ParameterStore<typename Ctx::Space>* frozen) {
    using Made = std::unique_ptr<train::ForwardBackward>;
    return train::with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() -> Made {
        return std::make_unique<Transformer<Ctx, T>>(config, store, ctx, plan, frozen);
    });
}

}  // namespace lockstep::model
