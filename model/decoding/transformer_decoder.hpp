// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "model/blocks/layout.hpp"
#include "model/blocks/stack_block.hpp"
#include "model/blocks/weights.hpp"
#include "model/decoding/decoder.hpp"
#include "model/decoding/decoding_batch.hpp"
#include "model/decoding/slot_cache.hpp"
#include "runtime/device/host_side.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

// Decodes with both kinds of model. A generator's slots of one context share the keys and values of
// its encoded text; each of gpt2's slots begins with a copy of the context's keys and values.
template <class Ctx, class T>
class TransformerDecoder final : public IncrementalDecoder {
public:
    using Space = typename Ctx::Space;

    TransformerDecoder(const ModelConfig& config, const train::ParameterStore<Space>& store,
                       Ctx& ctx, const train::ParameterStore<Space>* frozen)
        : config_(config),
          weights_(bind_weights<T>(ctx, config_, store.table(), store, frozen)),
          encoder_(stack_settings(config, StackKind::encoder)),
          decoder_(stack_settings(config, StackKind::decoder)),
          ctx_(ctx),
          upload_(ctx),
          cache_(ctx) {}

    std::int64_t vocabulary() const override { return config_.vocabulary; }
    Stacks stacks() const override { return architecture(config_.kind).stacks; }

    int host_threads(std::int64_t scores) const override {
        constexpr std::int64_t least_shared = 32768;
        if (scores < least_shared) return 1;
        if constexpr (std::is_same_v<Space, HostSpace>)
            return ctx_.threads();
        else
            return ctx_.template cached<device::HostThreads>().count;
    }

    std::vector<int> start(const std::vector<std::vector<std::int32_t>>& contexts,
                           int slots_per_context, int max_new_tokens) override {
        require(slots_per_context > 0 && max_new_tokens > 0, "a decoder needs slots and tokens");
        slots_per_context_ = slots_per_context;
        const bool prefixed = !weights_.encoder;
        const std::int64_t positions = config_.n_positions;
        std::vector<int> most;
        std::vector<std::int64_t> kept;
        std::int64_t capacity = 0;
        for (const auto& context : contexts) {
            const auto length = static_cast<std::int64_t>(context.size());
            most.push_back(new_tokens(length, max_new_tokens));
            kept.push_back(std::min(length, prefixed ? positions - most.back() : positions));
            capacity = std::max(capacity, most.back() + (prefixed ? kept.back() : 0));
        }
        const train::RaggedTokens side = ragged_ends(contexts, kept);
        cache_.reset(weights_.decoder.layers.size(), contexts.size() * slots_per_context, capacity,
                     decoder_.widths.kv());
        arena_.reset();
        prefixed ? read_prefixes(side) : encode(side);
        return most;
    }

    void step(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& tokens,
              std::vector<float>& logits) override {
        require(slots.size() == tokens.size(), "step: one token per slot");
        if (slots.empty()) return logits.clear();
        std::vector<std::int32_t> positions;
        for (const std::int32_t slot : slots) positions.push_back(cache_.length(slot));
        const train::RaggedTokens side = single_tokens(tokens);
        positions.resize(side.tokens.size());
        arena_.reset();
        rows_.assign(slots.size(), 0);
        const Ranges ranges = ranges_of(slots, side.total());
        upload_.begin(placed_bytes<Ctx>(side) + ranges.bytes() +
                      positions.size() * sizeof(std::int32_t));
        auto batch = upload_side(upload_, side, upload_rows(upload_, rows_));
        batch.coordinates.positions = upload_.add(HostView<const std::int32_t>(view_of(positions)));
        const PlacedRanges placed{
            upload_.add(view_of(ranges.begin)), upload_.add(view_of(ranges.length)),
            upload_.add(view_of(ranges.memory_begin)), upload_.add(view_of(ranges.memory_length)),
            upload_.add(view_of(ranges.next_rows))};
        upload_.finish();
        const Constant last =
            run_layers({ctx_, arena_, decoder_, batch, nullptr, nullptr}, slots, placed);
        score(last, slots.size(), logits);
    }

    void reorder(const std::vector<std::int32_t>& from) override { cache_.reorder(from); }

private:
    using Matrix = MatrixView<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Work = StackPass<Ctx, T>;

    // Holds the rows of a cache that each fed token attends to; filler tokens attend to none. The
    // token's own row goes to next_rows.
    struct Ranges {
        std::vector<std::int64_t> begin, memory_begin;
        std::vector<std::int32_t> length, memory_length;
        std::vector<std::int64_t> next_rows;

        std::size_t bytes() const noexcept { return 2 * 12 * begin.size() + 8 * next_rows.size(); }
    };
    struct PlacedRanges {
        View<const std::int64_t, Space> begin;
        View<const std::int32_t, Space> length;
        View<const std::int64_t, Space> memory_begin;
        View<const std::int32_t, Space> memory_length;
        View<const std::int64_t, Space> next_rows;
    };

    // Returns the number of tokens that may follow a context of that length.
    int new_tokens(std::int64_t context, int max_new_tokens) const {
        const std::int64_t positions = config_.n_positions;
        std::int64_t most = std::min<std::int64_t>(max_new_tokens, positions);
        // If the context and the reply do not both fit, the reply may take half of the positions.
        if (!weights_.encoder)
            most = std::min(most, std::max({positions - context, positions / 2, std::int64_t{1}}));
        return static_cast<int>(most);
    }

    Ranges ranges_of(const std::vector<std::int32_t>& slots, std::int64_t total) const {
        const auto count = static_cast<std::size_t>(total);
        Ranges ranges{std::vector<std::int64_t>(count),
                      std::vector<std::int64_t>(count),
                      std::vector<std::int32_t>(count),
                      std::vector<std::int32_t>(count),
                      {}};
        for (std::size_t i = 0; i < slots.size(); ++i) {
            ranges.begin[i] = cache_.begin(slots[i]);
            ranges.length[i] = cache_.length(slots[i]) + 1;
            ranges.next_rows.push_back(cache_.next_row(slots[i]));
            if (!weights_.encoder) continue;
            const std::int32_t context = slots[i] / slots_per_context_;
            ranges.memory_begin[i] = memory_offsets_[context];
            ranges.memory_length[i] = memory_offsets_[context + 1] - memory_offsets_[context];
        }
        return ranges;
    }

    Ragged<Space> place_alone(const train::RaggedTokens& side) {
        rows_.assign(static_cast<std::size_t>(side.sequences()), 0);
        upload_.begin(placed_bytes<Ctx>(side));
        auto batch = upload_side(upload_, side, upload_rows(upload_, rows_));
        upload_.finish();
        locate_tokens(ctx_, arena_, batch);
        return batch;
    }

    // Writes the scores of the first `real` rows of `last`; the others are filler.
    void score(Constant last, std::size_t real, std::vector<float>& logits) {
        const auto vocabulary = static_cast<std::size_t>(config_.vocabulary);
        if constexpr (std::is_same_v<T, float> && std::is_same_v<Space, HostSpace>) {
            logits.resize(static_cast<std::size_t>(last.rows) * vocabulary);
            kernels::linear_forward<T>(ctx_, last, weights_.head, {},
                                       {logits.data(), last.rows, config_.vocabulary});
            logits.resize(real * vocabulary);
        } else {
            logits.resize(real * vocabulary);
            const Matrix scores = arena_.template take_matrix<T>(last.rows, config_.vocabulary);
            kernels::linear_forward<T>(ctx_, last, weights_.head, {}, scores);
            read({scores.data, logits.size()}, view_of(logits));
        }
    }

    void read(View<const T, Space> from, HostView<float> to) {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            kernels::cast<T, float>(ctx_, from, to);
        } else {
            const auto wide = arena_.template take<float>(from.size());
            kernels::cast<T, float>(ctx_, from, wide);
            device::copy(ctx_, View<const float, Space>(wide), to);
            ctx_.synchronize();
        }
    }

    // Keeps the keys and values of the encoded contexts for the decoder's cross-attentions.
    void encode(const train::RaggedTokens& side) {
        const auto batch = place_alone(side);
        const Work run{ctx_, arena_, encoder_, batch, nullptr, nullptr};
        memory_offsets_ = side.offsets;
        memory_rows_ = side.total();
        memory_.resize(weights_.decoder.layers.size());
        if (side.total() == 0) return;
        const Constant encoded =
            StackBlock<Ctx, T>::evaluate(run, *weights_.encoder, weights_.embeddings, {});
        for (std::size_t l = 0; l < memory_.size(); ++l) {
            const auto size = static_cast<std::size_t>(memory_rows_ * decoder_.widths.key_value());
            if (memory_[l].size() < size) memory_[l] = device::Buffer<T, Space>(size);
            const auto& kv = weights_.decoder.layers[l].cross_attention->kv;
            kernels::linear_forward<T>(ctx_, encoded, kv.w, kv.b, memory(l));
        }
    }

    Matrix memory(std::size_t layer) const {
        return {memory_[layer].view().data(), memory_rows_, decoder_.widths.key_value()};
    }

    // Runs all contexts through the decoder at once and writes their keys and values to every
    // slot's cache.
    void read_prefixes(const train::RaggedTokens& side) {
        if (side.total() == 0) return;
        const auto batch = place_alone(side);
        using Saved = typename LayerBlock<Ctx, T>::Saved;
        StackBlock<Ctx, T>::evaluate({ctx_, arena_, decoder_, batch, nullptr, nullptr},
                                     weights_.decoder, weights_.embeddings, {},
                                     {{}, [&](std::size_t layer, const Saved& saved) {
                                          write_prefixes(layer, side, saved.self_attention);
                                      }});
        for (std::int32_t slot = 0; slot < cache_.slots(); ++slot) {
            cache_.extend(slot, side.offsets[slot / slots_per_context_ + 1] -
                                    side.offsets[slot / slots_per_context_]);
        }
    }

    // `saved` has the layer's keys and values of all contexts.
    void write_prefixes(std::size_t layer, const train::RaggedTokens& side,
                        const AttentionSaved<T, Space>& saved) {
        for (std::int32_t slot = 0; slot < cache_.slots(); ++slot) {
            const std::int32_t context = slot / slots_per_context_;
            const std::int64_t first = side.offsets[context];
            const std::int64_t rows = side.offsets[context + 1] - first;
            cache_.write(layer, slot, saved.k.rows_from(first, rows),
                         saved.v.rows_from(first, rows));
        }
    }

    // Runs one token of each slot through the decoder. Returns the output, [run.batch.total, d].
    Constant run_layers(Work run, const std::vector<std::int32_t>& slots,
                        const PlacedRanges& ranges) {
        typename EmbeddingBlock<Ctx, T>::Saved unused;
        auto x =
            EmbeddingBlock<Ctx, T>::forward(run, weights_.decoder, weights_.embeddings, unused);
        for (; run.layer < weights_.decoder.layers.size(); ++run.layer) {
            typename LayerBlock<Ctx, T>::Saved unused_of_layer;
            x = LayerBlock<Ctx, T>::forward(run, weights_.decoder.layers[run.layer], x,
                                            CachedAttention{*this, ranges}, unused_of_layer);
        }
        for (const std::int32_t slot : slots) cache_.extend(slot, 1);
        return x.input;
    }

    // Attends to the keys and values of earlier tokens, which are in the caches, instead of the
    // batch (LayerBlock::BatchAttention). The layers' backward does not follow, so nothing is
    // saved.
    struct CachedAttention {
        using Weights = Layer<T, Space>;
        using Saved = AttentionSaved<T, Space>;

        TransformerDecoder& decoder;
        const PlacedRanges& ranges;

        Matrix self(const Work& run, const Weights& weights, Constant x, Saved& made) const {
            auto& cache = decoder.cache_;
            SelfAttentionBlock<Ctx, T>::project(run, weights.self_attention, x, made);
            const auto real = static_cast<std::int64_t>(ranges.next_rows.size());
            cache.write_each(run.layer, ranges.next_rows, made.k.rows_from(0, real),
                             made.v.rows_from(0, real));
            return attend(run, run.settings.self_attention, ranges.begin, ranges.length, made.q,
                          cache.keys(run.layer), cache.values(run.layer),
                          weights.self_attention.out);
        }
        Matrix cross(const Work& run, const Weights& weights, Constant x, Saved&) const {
            const std::int64_t width = run.settings.widths.kv();
            const Matrix q = LinearBlock<Ctx, T>::forward(run, weights.cross_attention->q, x);
            const Matrix kv = decoder.memory(run.layer);
            return attend(run, run.settings.cross_attention, ranges.memory_begin,
                          ranges.memory_length, q, kv.columns(0, width), kv.columns(width, width),
                          weights.cross_attention->out);
        }
    };

    static Matrix attend(const Work& run, const kernels::AttentionShape& shape,
                         View<const std::int64_t, Space> begin,
                         View<const std::int32_t, Space> length, Constant q, Constant k, Constant v,
                         const Linear<T, Space>& out) {
        const Matrix attended = run.take(q.rows, q.cols);
        kernels::attention_decode<T>(run.ctx, {.shape = shape,
                                               .begin = begin,
                                               .length = length,
                                               .q = q,
                                               .k_cache = k,
                                               .v_cache = v,
                                               .out = attended});
        return LinearBlock<Ctx, T>::forward(run, out, attended);
    }

    const ModelConfig config_;
    const TransformerWeights<T, Space> weights_;
    const StackSettings encoder_, decoder_;
    Ctx& ctx_;
    device::Upload<Ctx> upload_;
    device::Arena<Space> arena_;
    SlotCache<Ctx, T> cache_;
    std::vector<device::Buffer<T, Space>> memory_;  // keys and values of the contexts, by layer
    std::vector<std::int32_t> memory_offsets_;
    std::vector<std::uint32_t> rows_;  // rows of a batch; any values do, because nothing is dropped
    std::int64_t memory_rows_ = 0;
    int slots_per_context_ = 1;
};

template <class Ctx>
std::unique_ptr<IncrementalDecoder> make_decoder(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const train::ParameterStore<typename Ctx::Space>* frozen) {
    using Made = std::unique_ptr<IncrementalDecoder>;
    return train::with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() -> Made {
        return std::make_unique<TransformerDecoder<Ctx, T>>(config, store, ctx, frozen);
    });
}

}  // namespace lockstep::model
