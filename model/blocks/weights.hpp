// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/architectures.hpp"
#include "model/config.hpp"
#include "model/lora_modules.hpp"
#include "model/parameter_rows.hpp"
#include "model/parts.hpp"
#include "model/pipeline_division.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Stands for y += scale * (x a^T) b, to columns of y: an adapter of some rows of a linear layer.
template <class T, class Space>
struct Adapter {
    MatrixView<const T, Space> a, b;  // [rank, in], [rank, columns]
    MatrixView<float, Space> da, db;
    std::int64_t first = 0;  // column
    float scale = 1;
    std::uint32_t number = 0;  // among those of a layer, for dropout
};

// The model's weights are named views into a parameter store: the values of type T with which it
// computes, and the gradients, which are always fp32. A forward pass alone does not touch the
// gradients.

// Stands for y = x w^T + b, w [out, in]; b may be empty. dw and db are empty if w and b are frozen.
template <class T, class Space>
struct Linear {
    MatrixView<const T, Space> w;
    View<const T, Space> b;
    MatrixView<float, Space> dw;
    View<float, Space> db;
    std::vector<Adapter<T, Space>> adapters = {};
};

template <class T, class Space>
struct Norm {
    View<const T, Space> gamma, beta;  // an rms norm has no beta
    View<float, Space> dgamma, dbeta;
};

template <class T, class Space>
struct SelfAttention {
    Linear<T, Space> qkv;  // rows of q, of k, of v (Widths)
    Linear<T, Space> out;
    Norm<T, Space> q_norm = {}, k_norm = {};    // of each head; empty: none
    View<const float, Space> frequencies = {};  // of rotary positions; empty: none
};

template <class T, class Space>
struct CrossAttention {
    Linear<T, Space> q;
    Linear<T, Space> kv;  // of the encoder's output; rows of k, of v
    Linear<T, Space> out;
};

template <class T, class Space>
struct FeedForward {
    Linear<T, Space> up, down;  // [ffn, d], [d, ffn]; with a gate `up` has its rows first
};

// Holds one layer and the norms that it runs; each norm is fused with the residual sum before it.
// If norms come before the branches, `after_ffn` is therefore the next layer's first norm, or the
// last layer's final one.
template <class T, class Space>
struct Layer {
    SelfAttention<T, Space> self_attention;
    Norm<T, Space> after_self;
    std::optional<CrossAttention<T, Space>> cross_attention;  // where there is an encoder
    Norm<T, Space> after_cross;
    FeedForward<T, Space> ffn;
    Norm<T, Space> after_ffn;
};

template <class T, class Space>
struct Stack {
    MatrixView<const T, Space> positions;  // [n_positions, d]
    MatrixView<float, Space> d_positions;  // empty: sinusoidal
    // Those of rows of the same parameter that no token has.
    View<float, Space> d_unused_positions;
    MatrixView<const T, Space> no_positions;  // as many rows, all zeros
    std::optional<Norm<T, Space>> embedding_norm;
    std::optional<Norm<T, Space>> first_norm;  // of layer 0, if norms come before branches
    std::vector<Layer<T, Space>> layers;
    // All layers' kv weights for the encoder's output, in order. They are one matrix if they are
    // stored without gaps, else one matrix each.
    std::vector<Linear<T, Space>> memory_projections;
    // Gradients of the biases of memory_projections, one layer's after the other, which the layers'
    // backward writes before the block of the projections has its slot, or while its memory is lent
    // (lent_gradients.hpp). Empty on devices that never lend, unless gradients have slots.
    View<float, Space> memory_biases;
    // Only the adapters of its layers, and maybe the tables, have gradients.
    bool frozen = false;
};

template <class T, class Space>
struct TransformerWeights {
    MatrixView<const T, Space> embeddings;  // [vocabulary, d]
    MatrixView<float, Space> d_embeddings;
    MatrixView<const T, Space> head;  // of the output: the embeddings unless it is its own
    MatrixView<float, Space> d_head;
    std::optional<Stack<T, Space>> encoder;  // with an encoder only
    Stack<T, Space> decoder;
    device::Buffer<T, Space> sinusoidal;       // memory of Stack::positions unless they are learned
    device::Buffer<T, Space> zero_row;         // memory of Stack::no_positions
    device::Buffer<float, Space> frequencies;  // of rotary positions, or empty
    device::Buffer<T, Space> class_bias;  // [vocabulary] or empty: added to the logits of a loss
    device::Buffer<float, Space> memory_biases;  // memory of Stack::memory_biases
    // Gradients of frozen vectors, which nobody reads: kernels write them beside what is wanted.
    device::Buffer<float, Space> unread;
    // The weights of a norm whose output nobody reads: the next stage has the layer's own norm.
    device::Buffer<T, Space> ones;
};

// Returns the elements of TransformerWeights::unread.
inline std::int64_t unread_elements(const ModelConfig& config,
                                    const train::PipelineStage& stage = {}) {
    if (ends_with_sum(config, stage)) return config.embedding_size;
    if (config.lora.rank == 0) return 0;
    const bool sums_hidden = config.parts.gate == Has::no;
    return std::max({config.embedding_size, widths(config).head_dim,
                     sums_hidden ? config.ffn_size : std::int64_t{0}});
}

// `table` must be parameter_table(config) of the slice and the stage, and `frozen` a store of
// frozen_table(config) if the model has adapters. The stores must outlive the weights.
template <class T, class Ctx>
TransformerWeights<T, typename Ctx::Space> bind_weights(
    Ctx& ctx, const ModelConfig& config, const train::ParameterTable& table,
    const train::ParameterStore<typename Ctx::Space>& store,
    const train::ParameterStore<typename Ctx::Space>* frozen = nullptr,
    const train::TensorSlice& slice = {}, const train::PipelineStage& stage = {});

// Returns ParlAI's create_position_codes, row-major [n_positions, d]: column j of row p is sin (j
// even) or cos (j odd) of p / 10000^(2 (j / 2) / d).
std::vector<float> sinusoidal_positions(std::int64_t n_positions, std::int64_t d);

template <class T, class Space>
class Binder {
public:
    Binder(const ModelConfig& config, const train::ParameterTable& table,
           const train::ParameterStore<Space>& store, const train::ParameterStore<Space>* frozen,
           View<float, Space> unread, const train::TensorSlice& slice,
           const train::PipelineStage& stage)
        : config_(config), slice_(slice), unread_(unread) {
        require(store.table().flat_size() == table.flat_size(),
                "the store was built with another table");
        require((frozen != nullptr) == (config.lora.rank > 0),
                "a model has a frozen base if it has adapters");
        index(parameter_rows(config, stage), table, store, Trained::yes);
        if (frozen != nullptr) index(frozen_rows(config), frozen->table(), *frozen, Trained::no);
    }

    MatrixView<const T, Space> matrix(const ParameterPlace& place) const {
        const train::Parameter& p = parameter(place);
        return {weights(place).data(), p.shape[0], p.shape[1]};
    }
    // Returns an empty one if the parameter is frozen.
    MatrixView<float, Space> d_matrix(const ParameterPlace& place) const {
        const Bound& bound = at(place);
        if (bound.trained == Trained::no) return {};
        const train::Parameter& p = *bound.parameter;
        return {bound.store->gradient(p.offset, p.count).data(), p.shape[0], p.shape[1]};
    }

    bool has(const ParameterPlace& place) const { return index_.contains(place); }

    Stack<T, Space> stack(StackKind kind, const LayerRange& layers,
                          const TransformerWeights<T, Space>& owner) const {
        const auto in_stack = [kind](Role role) {
            return ParameterPlace{role, Values::weight, kind};
        };
        const std::int64_t positions = config_.n_positions, d = config_.embedding_size;
        Stack<T, Space> stack;
        stack.frozen = config_.lora.rank > 0;
        stack.no_positions = {owner.zero_row.view().data(), positions, d, 0};
        stack.positions = stack.no_positions;
        if (owner.sinusoidal.size() > 0)
            stack.positions = {owner.sinusoidal.view().data(), positions, d};
        if (has(in_stack(Role::positions))) {
            const auto rows = matrix(in_stack(Role::positions));
            const std::int64_t unused = (rows.rows - positions) * d;
            stack.positions = {rows.data + unused, positions, d};
            if (!stack.frozen) {
                const auto d_rows = d_matrix(in_stack(Role::positions));
                stack.d_positions = {d_rows.data + unused, positions, d};
                stack.d_unused_positions = {d_rows.data, static_cast<std::size_t>(unused)};
            }
        }
        if (has(in_stack(Role::embedding_norm)))
            stack.embedding_norm = norm(in_stack(Role::embedding_norm));
        if (has(in_stack(Role::first_norm))) stack.first_norm = norm(in_stack(Role::first_norm));
        for (std::int64_t i = layers.first; i < layers.end; ++i) {
            stack.layers.push_back(layer(kind, i));
            stack.layers.back().self_attention.frequencies = owner.frequencies.view();
        }
        for (const auto& each : stack.layers)
            if (each.cross_attention) append(stack.memory_projections, each.cross_attention->kv);
        if (owner.memory_biases.size() > 0 && !stack.memory_projections.empty())
            separate_biases(stack, owner.memory_biases.view());
        return stack;
    }

private:
    Layer<T, Space> layer(StackKind stack, std::int64_t index) const {
        const auto in_layer = [&](Role role) {
            return ParameterPlace{role, Values::weight, stack, index};
        };
        Layer<T, Space> layer;
        layer.self_attention = {linear(in_layer(Role::self_qkv)), linear(in_layer(Role::self_out))};
        if (has(in_layer(Role::q_norm))) {
            layer.self_attention.q_norm = norm(in_layer(Role::q_norm));
            layer.self_attention.k_norm = norm(in_layer(Role::k_norm));
        }
        layer.ffn = {linear(in_layer(Role::ffn_up)), linear(in_layer(Role::ffn_down))};
        layer.after_self = norm(in_layer(Role::after_self));
        if (has(in_layer(Role::cross_q))) {
            layer.cross_attention = {linear(in_layer(Role::cross_q)),
                                     linear(in_layer(Role::cross_kv)),
                                     linear(in_layer(Role::cross_out))};
            layer.after_cross = norm(in_layer(Role::after_cross));
        }
        layer.after_ffn = norm(in_layer(Role::after_ffn));
        return layer;
    }

    static void separate_biases(Stack<T, Space>& stack, View<float, Space> memory) {
        stack.memory_biases = memory;
        std::size_t first = 0;
        for (auto& layer : stack.layers) {
            View<float, Space>& db = layer.cross_attention->kv.db;
            db = memory.subview(first, db.size());
            first += db.size();
        }
    }

    // Extends the last one if `next` begins where it ends, else adds `next`.
    static void append(std::vector<Linear<T, Space>>& all, const Linear<T, Space>& next) {
        if (all.empty() || all.back().b.data() + all.back().b.size() != next.b.data() ||
            all.back().w.data + all.back().w.rows * all.back().w.cols != next.w.data)
            return all.push_back(next);
        Linear<T, Space>& last = all.back();
        last.w.rows += next.w.rows;
        last.dw.rows += next.dw.rows;
        last.b = {last.b.data(), last.b.size() + next.b.size()};
        last.db = {last.db.data(), last.db.size() + next.db.size()};
    }

    Linear<T, Space> linear(const ParameterPlace& place) const {
        const auto b = vector(place, Values::bias);
        Linear<T, Space> linear{matrix(place), b.first, d_matrix(place), b.second};
        // The products of the ranks that divide the columns are added, and the bias is added once.
        if (slice_.rank > 0 && parameter(place).split == train::Split::columns) linear.b = {};
        if (config_.lora.rank == 0) return linear;
        // The kernel of an activation without a gate writes the sums in any case.
        if (place.role != Role::ffn_up || config_.parts.gate == Has::yes) linear.db = {};
        for (const LoraModule& module : lora_modules(config_.kind))
            if (module.role == place.role) add_adapter(place, module, linear);
        return linear;
    }

    void add_adapter(ParameterPlace place, const LoraModule& module,
                     Linear<T, Space>& linear) const {
        const RowRange rows = rows_of_part(parameter(place), module);
        place.part = module.part;
        place.values = Values::lora_a;
        if (!has(place)) return;
        const auto a = matrix(place);
        const auto da = d_matrix(place);
        place.values = Values::lora_b;
        const auto number = &module - lora_modules(config_.kind).data();
        linear.adapters.push_back({a, matrix(place), da, d_matrix(place), rows.first,
                                   lora_scale(config_, place), static_cast<std::uint32_t>(number)});
    }

    Norm<T, Space> norm(const ParameterPlace& place) const {
        const auto gamma = vector(place, Values::weight), beta = vector(place, Values::bias);
        return {gamma.first, beta.first, gamma.second, beta.second};
    }

    std::pair<View<const T, Space>, View<float, Space>> vector(ParameterPlace place,
                                                               Values values) const {
        place.values = values;
        if (!has(place)) return {};
        const Bound& bound = at(place);
        const train::Parameter& p = *bound.parameter;
        if (bound.trained == Trained::yes)
            return {weights(place), bound.store->gradient(p.offset, p.count)};
        return {weights(place),
                p.count <= unread_.size() ? unread_.subview(0, p.count) : View<float, Space>()};
    }

    View<const T, Space> weights(const ParameterPlace& place) const {
        const Bound& bound = at(place);
        return bound.store->template compute<T>(bound.parameter->offset, bound.parameter->count);
    }

    enum class Trained { no, yes };
    struct Bound {
        const train::Parameter* parameter;
        const train::ParameterStore<Space>* store;
        Trained trained;
    };

    void index(const std::vector<ParameterRow>& rows, const train::ParameterTable& table,
               const train::ParameterStore<Space>& store, Trained trained) {
        require(rows.size() == table.all().size(), "the table is another model's");
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const train::Parameter row = train::sliced(rows[i].parameter, slice_);
            require(row.name == table[i].name && row.shape == table[i].shape,
                    "the table is another model's");
            require(index_.emplace(rows[i].place, Bound{&table[i], &store, trained}).second,
                    "two parameters have one place");
        }
    }

    const Bound& at(const ParameterPlace& place) const { return index_.at(place); }
    const train::Parameter& parameter(const ParameterPlace& place) const {
        return *at(place).parameter;
    }

    const ModelConfig& config_;
    const train::TensorSlice slice_;
    View<float, Space> unread_;
    std::map<ParameterPlace, Bound> index_;
};

template <class T, class Ctx>
device::Buffer<T, typename Ctx::Space> constant_buffer(Ctx& ctx,
                                                       const std::vector<float>& constants) {
    std::vector<T> values(constants.size());
    std::ranges::transform(constants, values.begin(), [](float constant) { return T(constant); });
    device::Buffer<T, typename Ctx::Space> buffer(constants.size());
    device::copy(ctx, HostView<const T>(view_of(values)), buffer.view());
    ctx.synchronize();
    return buffer;
}

template <class T, class Ctx>
device::Buffer<T, typename Ctx::Space> sinusoidal_buffer(Ctx& ctx, const ModelConfig& config) {
    if (config.positions != Positions::sinusoidal) return {};
    if constexpr (std::is_same_v<typename Ctx::Space, device::DrySpace>)  // saves the calculation
        return device::Buffer<T, device::DrySpace>(
            static_cast<std::size_t>(config.n_positions * config.embedding_size));
    return constant_buffer<T>(ctx, sinusoidal_positions(config.n_positions, config.embedding_size));
}

template <class Ctx>
device::Buffer<float, typename Ctx::Space> frequencies_buffer(Ctx& ctx, const ModelConfig& config) {
    const std::vector<float> frequencies = rotary_frequencies(config);
    return constant_buffer<float>(ctx, frequencies);
}

template <class T, class Ctx>
device::Buffer<T, typename Ctx::Space> class_bias_buffer(Ctx& ctx, const ModelConfig& config) {
    if (config.excluded_token < 0) return {};
    std::vector<float> bias(static_cast<std::size_t>(config.vocabulary));
    bias[static_cast<std::size_t>(config.excluded_token)] = -std::numeric_limits<float>::infinity();
    return constant_buffer<T>(ctx, bias);
}

// Binds the table and the head, of which a stage may lack one or both.
template <class T, class Space>
void bind_ends(const ModelConfig& config, const Binder<T, Space>& bind,
               TransformerWeights<T, Space>& weights) {
    const ParameterPlace table{Role::embeddings};
    const ParameterPlace head{has_own_head(config) == Has::yes ? Role::head : Role::embeddings};
    if (bind.has(table)) {
        weights.embeddings = bind.matrix(table);
        weights.d_embeddings = bind.d_matrix(table);
    }
    if (!bind.has(head)) return;
    weights.head = bind.matrix(head);
    weights.d_head = bind.d_matrix(head);
}

template <class T, class Ctx>
void end_with_sum(Ctx& ctx, const ModelConfig& config,
                  TransformerWeights<T, typename Ctx::Space>& weights) {
    const auto d = static_cast<std::size_t>(config.embedding_size);
    weights.ones = constant_buffer<T>(ctx, std::vector<float>(d, 1.0f));
    const auto unread = weights.unread.view();
    const bool has_beta = config.parts.norm == kernels::NormKind::layer;
    auto& norm = weights.decoder.layers.back().after_ffn;
    norm = {weights.ones.view(), {}, unread, {}};
    if (!has_beta) return;
    norm.beta = weights.zero_row.view();
    norm.dbeta = unread;
}

template <class T, class Ctx>
TransformerWeights<T, typename Ctx::Space> bind_weights(
    Ctx& ctx, const ModelConfig& config, const train::ParameterTable& table,
    const train::ParameterStore<typename Ctx::Space>& store,
    const train::ParameterStore<typename Ctx::Space>* frozen, const train::TensorSlice& slice,
    const train::PipelineStage& stage) {
    using Space = typename Ctx::Space;
    TransformerWeights<T, Space> weights;
    weights.unread =
        device::Buffer<float, Space>(static_cast<std::size_t>(unread_elements(config, stage)));
    const Binder<T, Space> bind(config, table, store, frozen, weights.unread.view(), slice, stage);
    weights.sinusoidal = sinusoidal_buffer<T>(ctx, config);
    weights.class_bias = class_bias_buffer<T>(ctx, config);
    weights.frequencies = frequencies_buffer(ctx, config);
    weights.zero_row = device::Buffer<T, Space>(static_cast<std::size_t>(config.embedding_size));
    if (has_encoder(config) && (Ctx::lends_gradients || store.gradient_placement().has_slots()))
        weights.memory_biases = device::Buffer<float, Space>(
            static_cast<std::size_t>(config.decoder_layers * widths(config, slice).key_value()));
    bind_ends(config, bind, weights);
    const LayerRange decoder = layers_of(config, stage);
    weights.decoder = bind.stack(StackKind::decoder, decoder, weights);
    if (ends_with_sum(config, stage)) end_with_sum(ctx, config, weights);
    if (has_encoder(config))
        weights.encoder = bind.stack(StackKind::encoder, {0, config.encoder_layers}, weights);
    return weights;
}

}  // namespace lockstep::model
