// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/decoder.hpp"
#include "model/decoding_batch.hpp"
#include "model/slot_cache.hpp"
#include "model/stack_block.hpp"
#include "model/transformer.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

namespace {

using device::CpuContext;
using train::RaggedTokens;

// Both kinds of model. A generator's slots of a context share the keys and values of its encoded
// text; gpt2's each begin with those of the context.
template <class T>
class TransformerDecoder final : public IncrementalDecoder {
public:
    TransformerDecoder(const ModelConfig& config, train::ParameterStore<HostSpace>& store,
                       CpuContext& ctx)
        : config_(config),
          weights_(bind_weights<T>(config_, parameter_table(config), store)),
          encoder_(stack_settings(config, StackKind::encoder)),
          decoder_(stack_settings(config, StackKind::decoder)),
          ctx_(ctx) {}

    std::int64_t vocabulary() const override { return config_.vocabulary; }

    int start(const std::vector<std::vector<std::int32_t>>& contexts, int slots_per_context,
              int max_new_tokens) override {
        require(slots_per_context > 0 && max_new_tokens > 0, "a decoder needs slots and tokens");
        slots_per_context_ = slots_per_context;
        std::size_t longest = 0;
        for (const auto& context : contexts) longest = std::max(longest, context.size());
        const bool prefixed = !weights_.encoder;
        const std::int64_t positions = config_.n_positions;
        std::int64_t most = std::min<std::int64_t>(max_new_tokens, positions);
        if (prefixed) {
            // Where both do not fit, a reply may take half.
            const auto room = positions - static_cast<std::int64_t>(longest);
            most = std::min(most, std::max({room, positions / 2, std::int64_t{1}}));
        }
        const RaggedTokens side = ragged_ends(contexts, prefixed ? positions - most : positions);
        cache_.reset(weights_.decoder.layers.size(), contexts.size() * slots_per_context,
                     most + (prefixed ? side.longest : 0), config_.embedding_size);
        arena_.reset();
        prefixed ? read_prefixes(side) : encode(side);
        return static_cast<int>(most);
    }

    void step(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& tokens,
              std::vector<float>& logits) override {
        require(slots.size() == tokens.size(), "step: one token per slot");
        logits.resize(slots.size() * static_cast<std::size_t>(config_.vocabulary));
        if (slots.empty()) return;
        std::vector<std::int32_t> positions;
        for (const std::int32_t slot : slots) positions.push_back(cache_.length(slot));
        const RaggedTokens side = single_tokens(tokens, positions);
        arena_.reset();
        const std::vector<std::uint32_t> rows(slots.size());
        const auto batch = in_place(side, rows);
        const Constant last = run_layers({ctx_, arena_, decoder_, batch, nullptr, nullptr}, slots);
        const Matrix scores = arena_.template take_matrix<T>(last.rows, config_.vocabulary);
        kernels::linear_forward<T>(ctx_, last, weights_.embeddings, {}, scores);
        kernels::cast<T, float>(ctx_, HostView<const T>(scores.data, logits.size()),
                                view_of(logits));
    }

    void reorder(const std::vector<std::int32_t>& from) override { cache_.reorder(from); }

private:
    using Matrix = HostMatrix<T>;
    using Constant = HostMatrix<const T>;
    using Work = Run<CpuContext, T>;
    using Ranges = std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>>;

    // Keeps what the decoder's cross-attentions read of the encoded contexts.
    void encode(const RaggedTokens& side) {
        const std::vector<std::uint32_t> rows(side.sequences());
        const auto batch = in_place(side, rows);
        const Work run{ctx_, arena_, encoder_, batch, nullptr, nullptr};
        const std::int64_t d = config_.embedding_size;
        memory_offsets_ = side.offsets;
        memory_rows_ = side.total();
        memory_.resize(weights_.decoder.layers.size());
        if (side.total() == 0) return;
        const Constant encoded =
            StackBlock<CpuContext, T>::evaluate(run, *weights_.encoder, weights_.embeddings, {});
        for (std::size_t l = 0; l < memory_.size(); ++l) {
            const auto size = static_cast<std::size_t>(memory_rows_ * 2 * d);
            if (memory_[l].size() < size) memory_[l] = device::Buffer<T, HostSpace>(size);
            const auto& kv = weights_.decoder.layers[l].cross_attention->kv;
            kernels::linear_forward<T>(ctx_, encoded, kv.w, kv.b, memory(l));
        }
    }

    Matrix memory(std::size_t layer) const {
        return {memory_[layer].view().data(), memory_rows_, 2 * config_.embedding_size};
    }

    // All contexts at once through the decoder; every slot's cache receives their keys and values.
    void read_prefixes(const RaggedTokens& side) {
        if (side.total() == 0) return;
        const std::vector<std::uint32_t> rows(side.sequences());
        const auto batch = in_place(side, rows);
        using Saved = typename LayerBlock<CpuContext, T>::Saved;
        StackBlock<CpuContext, T>::evaluate(
            {ctx_, arena_, decoder_, batch, nullptr, nullptr}, weights_.decoder,
            weights_.embeddings, {}, [&](std::size_t layer, const Saved& saved) {
                const Matrix k = saved.self_attention.k;  // its values stand beside it
                write_prefixes(layer, side, {k.data, k.rows, 2 * k.cols, k.stride});
            });
        for (std::int32_t slot = 0; slot < cache_.slots(); ++slot) {
            cache_.extend(slot, side.offsets[slot / slots_per_context_ + 1] -
                                    side.offsets[slot / slots_per_context_]);
        }
    }

    // key_value [total, 2 * d]: the layer's keys with the values beside them.
    void write_prefixes(std::size_t layer, const RaggedTokens& side, Constant key_value) {
        for (std::int32_t slot = 0; slot < cache_.slots(); ++slot) {
            const std::int32_t context = slot / slots_per_context_;
            const std::int64_t first = side.offsets[context];
            cache_.write(layer, slot,
                         key_value.rows_from(first, side.offsets[context + 1] - first));
        }
    }

    // One token of each slot through the decoder; the output [run.batch.total, d].
    Constant run_layers(Work run, const std::vector<std::int32_t>& slots) {
        // Filler reads no keys.
        Ranges self{std::vector<std::int64_t>(run.batch.total),
                    std::vector<std::int32_t>(run.batch.total)};
        Ranges cross = self;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            self.first[i] = cache_.begin(slots[i]);
            self.second[i] = cache_.length(slots[i]) + 1;
            if (!weights_.encoder) continue;
            const std::int32_t context = slots[i] / slots_per_context_;
            cross.first[i] = memory_offsets_[context];
            cross.second[i] = memory_offsets_[context + 1] - memory_offsets_[context];
        }
        typename EmbeddingBlock<CpuContext, T>::Saved unused;
        auto x = EmbeddingBlock<CpuContext, T>::forward(run, weights_.decoder, weights_.embeddings,
                                                        unused);
        for (; run.layer < weights_.decoder.layers.size(); ++run.layer) {
            x = run_layer(run, slots, self, cross, x);
        }
        for (const std::int32_t slot : slots) cache_.extend(slot, 1);
        return x.input;
    }

    // LayerBlock::forward with the keys and values of earlier tokens taken from the caches.
    Stream<T, HostSpace> run_layer(const Work& run, const std::vector<std::int32_t>& slots,
                                   const Ranges& self, const Ranges& cross,
                                   Stream<T, HostSpace> x) {
        using Sum = ResidualNorm<CpuContext, T>;
        const auto& weights = weights_.decoder.layers[run.layer];
        const std::int64_t d = config_.embedding_size;
        typename Sum::Saved unused;
        const Matrix qkv =
            LinearBlock<CpuContext, T>::forward(run, weights.self_attention.qkv, x.input);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            cache_.write(run.layer, slots[i],
                         qkv.columns(d, 2 * d).rows_from(static_cast<std::int64_t>(i), 1));
        }
        const Matrix attended =
            attend(run, decoder_.self_attention, self, qkv.columns(0, d), cache_.keys(run.layer),
                   cache_.values(run.layer), weights.self_attention.out);
        x = Sum::forward(run, DropoutPlace::self_output, weights.after_self, x.residual, attended,
                         unused);
        if (weights.cross_attention) {
            const Matrix q =
                LinearBlock<CpuContext, T>::forward(run, weights.cross_attention->q, x.input);
            const Matrix kv = memory(run.layer);
            const Matrix read = attend(run, decoder_.cross_attention, cross, q, kv.columns(0, d),
                                       kv.columns(d, d), weights.cross_attention->out);
            x = Sum::forward(run, DropoutPlace::cross_output, weights.after_cross, x.residual, read,
                             unused);
        }
        typename FeedForwardBlock<CpuContext, T>::Saved dropped;
        const Matrix fed =
            FeedForwardBlock<CpuContext, T>::forward(run, weights.ffn, x.input, dropped);
        return Sum::forward(run, DropoutPlace::ffn_output, weights.after_ffn, x.residual, fed,
                            unused);
    }

    static Matrix attend(const Work& run, const kernels::AttentionShape& shape,
                         const Ranges& ranges, Constant q, Constant k, Constant v,
                         const Linear<T, HostSpace>& out) {
        const Matrix attended = run.take(q.rows, q.cols);
        kernels::attention_decode<T>(run.ctx, shape, view_of(ranges.first), view_of(ranges.second),
                                     q, k, v, attended);
        return LinearBlock<CpuContext, T>::forward(run, out, attended);
    }

    const ModelConfig config_;
    const TransformerWeights<T, HostSpace> weights_;
    const StackSettings encoder_, decoder_;
    CpuContext& ctx_;
    device::Arena<HostSpace> arena_;
    SlotCache<T> cache_;
    std::vector<device::Buffer<T, HostSpace>> memory_;  // [k v] of the contexts, by layer
    std::vector<std::int32_t> memory_offsets_;
    std::int64_t memory_rows_ = 0;
    int slots_per_context_ = 1;
};

}  // namespace

std::unique_ptr<IncrementalDecoder> make_decoder(const ModelConfig& config,
                                                 train::ParameterStore<HostSpace>& store,
                                                 CpuContext& ctx) {
    if (store.precision() == train::Precision::bf16) {
        return std::make_unique<TransformerDecoder<bf16>>(config, store, ctx);
    }
    return std::make_unique<TransformerDecoder<float>>(config, store, ctx);
}

}  // namespace lockstep::model
