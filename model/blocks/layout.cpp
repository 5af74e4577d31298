// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/layout.hpp"

#include <string>

namespace lockstep::model {

namespace {

using train::ParameterTable;
using train::WeightDecay;

// Adds parameters in the order in which backward finishes them, which is the reverse of forward's.
class Layout {
public:
    explicit Layout(const ModelConfig& config)
        : config_(config), before_(norm_position(config) == NormPosition::before_branch) {}

    ParameterTable make() && {
        stack("decoder", config_.decoder_layers,
              config_.kind == Kind::generator ? Attends::to_encoder : Attends::to_itself);
        if (config_.kind == Kind::generator) {
            stack("encoder", config_.encoder_layers, Attends::to_itself);
        }
        table_.add("embeddings.weight", {config_.vocabulary, config_.embedding_size}, block_,
                   WeightDecay::apply);
        return std::move(table_);
    }

private:
    enum class Attends { to_itself, to_encoder };

    void stack(const std::string& name, std::int64_t layers, Attends attends) {
        for (std::int64_t i = layers - 1; i >= 0; --i, ++block_) layer(name, i, layers, attends);
        if (attends == Attends::to_encoder) memory_projections(name, layers);
        const std::size_t before = table_.all().size();
        if (before_) norm(name + ".layers.0.norm1");
        if (config_.positions == Positions::learned) {
            table_.add(name + ".position_embeddings.weight",
                       {config_.n_positions, config_.embedding_size}, block_, WeightDecay::apply);
        }
        if (config_.variant == Variant::xlm) norm(name + ".norm_embeddings");
        if (table_.all().size() > before) ++block_;
    }

    // A layer's block holds the norms that the layer runs: see Layer in weights.hpp.
    void layer(const std::string& stack, std::int64_t index, std::int64_t layers, Attends attends) {
        const bool generator = attends == Attends::to_encoder;
        const std::string base = stack + ".layers." + std::to_string(index) + ".";
        const std::string next = stack + ".layers." + std::to_string(index + 1) + ".norm1";
        const std::string last_norm = generator ? "norm3" : "norm2";
        const std::string self = stack == "decoder" ? "self_attention" : "attention";
        const std::int64_t d = config_.embedding_size, f = config_.ffn_size;

        if (!before_) norm(base + last_norm);
        if (before_) norm(index + 1 < layers ? next : stack + ".norm_embeddings");
        linear(base + "ffn.lin2", d, f);
        linear(base + "ffn.lin1", f, d);
        if (before_) norm(base + last_norm);
        if (generator) {
            if (!before_) norm(base + "norm2");
            linear(base + "encoder_attention.out", d, d);
            linear(base + "encoder_attention.q", d, d);
            if (before_) norm(base + "norm2");
        }
        if (!before_) norm(base + "norm1");
        linear(base + self + ".out", d, d);
        // GPT-2 itself has one matrix for q, k and v; in the other kinds it stands for three
        // parameters.
        linear(base + self + ".qkv", 3 * d, d, config_.kind == Kind::gpt2 ? 1 : 3);
    }

    // The weights for the keys and values of the encoder's output, of all layers, are one block.
    // They form one matrix unless gaps for alignment separate them. Their gradients are the last
    // ones of the layers'.
    void memory_projections(const std::string& stack, std::int64_t layers) {
        const std::int64_t d = config_.embedding_size;
        const auto name = [&](std::int64_t i) {
            return stack + ".layers." + std::to_string(i) + ".encoder_attention.kv.";
        };
        for (std::int64_t i = 0; i < layers; ++i)
            table_.add(name(i) + "bias", {2 * d}, block_, WeightDecay::skip, 2);
        for (std::int64_t i = 0; i < layers; ++i)
            table_.add(name(i) + "weight", {2 * d, d}, block_, WeightDecay::apply, 2);
        ++block_;
    }

    void linear(const std::string& name, std::int64_t out, std::int64_t in, int parts = 1) {
        table_.add(name + ".bias", {out}, block_, WeightDecay::skip, parts);
        table_.add(name + ".weight", {out, in}, block_, WeightDecay::apply, parts);
    }

    void norm(const std::string& name) {
        table_.add(name + ".bias", {config_.embedding_size}, block_, WeightDecay::skip);
        table_.add(name + ".weight", {config_.embedding_size}, block_, WeightDecay::skip);
    }

    const ModelConfig& config_;
    const bool before_;
    ParameterTable table_;
    int block_ = 0;
};

}  // namespace

ParameterTable parameter_table(const ModelConfig& config) {
    validate(config);
    return Layout(config).make();
}

}  // namespace lockstep::model
