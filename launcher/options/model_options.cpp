// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "launcher/options/tables.hpp"
#include "model/architectures.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::uint64_t max_width = 1 << 20, max_layers = 1 << 12;

}  // namespace

namespace {

void add_shape(OptionTable& table, RunConfig& config) {
    model::ModelConfig& m = config.model;
    table.integer("embedding-size,esz", m.embedding_size, "width of the model", 1, max_width);
    table
        .integer("n-layers,nl", config.n_layers, "encoder layers and decoder layers, each", 1,
                 max_layers)
        .in_place_of({"n-encoder-layers", "n-decoder-layers"});
    table.integer("n-encoder-layers,nel", config.n_encoder_layers,
                  "encoder layers (-1: as --n-layers)", INT64_MIN, max_layers);
    table.integer("n-decoder-layers,ndl", config.n_decoder_layers,
                  "decoder layers (-1: as --n-layers)", INT64_MIN, max_layers);
    table.integer("ffn-size,hid", m.ffn_size, "width of the feed-forward layers", 1, max_width);
    table.integer("n-heads", m.heads, "attention heads; divide the width", 1);
    table.integer("n-kv-heads", config.n_kv_heads,
                  "llama and its like: heads of keys and values; divide --n-heads (-1: as many)",
                  -1, max_width);
    table.number_from_0("rope-theta", config.rope_theta,
                        "llama and its like: base of the rotary positions' wavelengths", 1e15);
    table.number_from_0("norm-epsilon", config.norm_epsilon,
                        "llama and its like: added to the mean square in a norm", 1);
    table.integer("n-positions", config.n_positions,
                  "longest sequence (-1: the larger truncation, or 1024)", INT64_MIN,
                  max_positions);
}

}  // namespace

OptionTable model_table(RunConfig& config) {
    using model::EmbeddingScale;
    using model::Variant;
    model::ModelConfig& m = config.model;
    OptionTable table("Model");
    std::vector<std::pair<std::string, model::Kind>> kinds;
    for (const model::Architecture& family : model::architectures())
        kinds.emplace_back(family.name, family.kind);
    table.choice("model,m", m.kind, kinds,
                 "encoder-decoder as ParlAI's, or a family of transformers");
    table.choice<Variant>("variant", m.variant,
                          {{"aiayn", Variant::aiayn},
                           {"prelayernorm", Variant::prelayernorm},
                           {"xlm", Variant::xlm},
                           {"bart", Variant::bart}},
                          "where the layer norms of transformer/generator stand");
    table.choice<kernels::Activation>(
        "activation", m.activation,
        {{"relu", kernels::Activation::relu}, {"gelu", kernels::Activation::gelu_erf}},
        "of the feed-forward layers (gpt2: its own gelu)");
    add_shape(table, config);
    table.rate("dropout", m.dropout, "on embeddings and on every sublayer's output")
        .with(Trait::updates);
    table.rate("attention-dropout", m.attention_dropout, "on attention probabilities")
        .with(Trait::updates);
    table.rate("relu-dropout", m.relu_dropout, "behind the feed-forward activation")
        .with(Trait::updates);
    table.flag("learn-positional-embeddings", config.learned_positions,
               "learn positions instead of sinusoids");
    table.flag("embeddings-scale", config.embeddings_scale, "scale embeddings by sqrt(width)");
    table
        .number_from_0("z-loss", m.z_loss,
                       "adds this times the square of log(sum of e^logit) to each label's loss, as "
                       "PaLM's 1e-4; no metric counts it",
                       1)
        .with(Trait::updates);
    table.rate("label-smoothing", m.label_smoothing, "share of the target spread over all entries")
        .with(Trait::updates);
    return table;
}

OptionTable lora_table(RunConfig& config) {
    LoraChoice& lora = config.lora;
    OptionTable table("Adapters (LoRA)");
    table.integer("lora-r", lora.rank,
                  "train adapters of this rank and leave the model of --init-model as it is (0: "
                  "train the model)",
                  0, 1 << 14);
    table.number_from_0("lora-alpha", lora.alpha,
                        "adapters count alpha / rank times (0: twice the rank)", 1e6);
    table.rate("lora-dropout", lora.dropout, "on what adapters read");
    table.text("lora-modules", lora.modules, "NAMES",
               "matrices with adapters, by the ends of their names: q_proj,v_proj; or all-linear");
    table.text("lora-modules-to-save", lora.modules_to_save, "NAMES",
               "tables that are trained whole beside the adapters: embed_tokens, lm_head");
    table.flag("lora-ensure-weight-tying", lora.ensure_weight_tying,
               "a table that is the head, too, stays that when it is trained whole");
    table.flag("lora-rs", lora.rank_stabilized, "adapters count alpha / sqrt(rank) times");
    table
        .text("lora", lora.adapter, "DIR",
              "PEFT's adapters to go on from; not read when the run continues")
        .with(Trait::paths, Trait::launch);
    return table;
}

RunConfig with_model(RunConfig config, const model::ModelConfig& model) {
    const model::ModelConfig had = std::exchange(config.model, model);
    const bool encoder = model::has_encoder(model);
    const bool same_encoder = !encoder || had.encoder_layers == model.encoder_layers;
    if (!same_encoder || had.decoder_layers != model.decoder_layers) {
        const bool alike = !encoder || model.encoder_layers == model.decoder_layers;
        config.n_layers = model.decoder_layers;
        config.n_encoder_layers = alike ? -1 : model.encoder_layers;
        config.n_decoder_layers = -1;
    }
    if (had.n_positions != model.n_positions) config.n_positions = model.n_positions;
    const model::Architecture& family = model::architecture(model.kind);
    if (family.parts) {
        config.n_kv_heads = model.parts.kv_heads > 0 ? model.parts.kv_heads : -1;
        config.rope_theta = model.parts.rotary.theta;
        config.norm_epsilon = model.parts.norm_epsilon;
    }
    if (!family.positions) config.learned_positions = model.positions == model::Positions::learned;
    if (!family.embedding_scale)
        config.embeddings_scale = model.embedding_scale == model::EmbeddingScale::sqrt_dim;
    return config;
}

}  // namespace lockstep::launcher
