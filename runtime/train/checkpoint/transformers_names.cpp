// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/transformers_names.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace lockstep::train {
namespace {

constexpr std::string_view peft_prefix = "base_model.model.";

struct Names {
    std::string_view theirs, ours;
    bool turned = false;
    int part = 0, parts = 1;
};

constexpr std::array gpt2_tables{
    Names{"wte.weight", "embeddings.weight"},
    Names{"wpe.weight", "decoder.position_embeddings.weight"},
    Names{"ln_f.weight", "decoder.norm_embeddings.weight"},
    Names{"ln_f.bias", "decoder.norm_embeddings.bias"},
};

constexpr std::array gpt2_layer{
    Names{"attn.c_attn.weight", "self_attention.qkv.weight", true},
    Names{"attn.c_attn.bias", "self_attention.qkv.bias"},
    Names{"attn.c_proj.weight", "self_attention.out.weight", true},
    Names{"attn.c_proj.bias", "self_attention.out.bias"},
    Names{"mlp.c_fc.weight", "ffn.lin1.weight", true},
    Names{"mlp.c_fc.bias", "ffn.lin1.bias"},
    Names{"mlp.c_proj.weight", "ffn.lin2.weight", true},
    Names{"mlp.c_proj.bias", "ffn.lin2.bias"},
    Names{"ln_1.weight", "norm1.weight"},
    Names{"ln_1.bias", "norm1.bias"},
    Names{"ln_2.weight", "norm2.weight"},
    Names{"ln_2.bias", "norm2.bias"},
};

constexpr std::array llama_tables{
    Names{"model.embed_tokens.weight", "embeddings.weight"},
    Names{"model.norm.weight", "decoder.norm_embeddings.weight"},
    Names{"lm_head.weight", "lm_head.weight"},
};

// Phi3 has the others of llama_layer, too.
constexpr std::array phi3_layer{
    Names{"self_attn.qkv_proj.weight", "self_attention.qkv.weight"},
    Names{"mlp.gate_up_proj.weight", "ffn.lin1.weight"},
};

constexpr std::array llama_layer{
    Names{"input_layernorm.weight", "norm1.weight"},
    Names{"post_attention_layernorm.weight", "norm2.weight"},
    Names{"self_attn.q_proj.weight", "self_attention.qkv.weight", false, 0, 3},
    Names{"self_attn.k_proj.weight", "self_attention.qkv.weight", false, 1, 3},
    Names{"self_attn.v_proj.weight", "self_attention.qkv.weight", false, 2, 3},
    Names{"self_attn.q_proj.bias", "self_attention.qkv.bias", false, 0, 3},
    Names{"self_attn.k_proj.bias", "self_attention.qkv.bias", false, 1, 3},
    Names{"self_attn.v_proj.bias", "self_attention.qkv.bias", false, 2, 3},
    Names{"self_attn.o_proj.weight", "self_attention.out.weight"},
    Names{"self_attn.o_proj.bias", "self_attention.out.bias"},
    Names{"self_attn.q_norm.weight", "self_attention.q_norm.weight"},
    Names{"self_attn.k_norm.weight", "self_attention.k_norm.weight"},
    Names{"mlp.gate_proj.weight", "ffn.lin1.weight", false, 0, 2},
    Names{"mlp.up_proj.weight", "ffn.lin1.weight", false, 1, 2},
    Names{"mlp.gate_proj.bias", "ffn.lin1.bias", false, 0, 2},
    Names{"mlp.up_proj.bias", "ffn.lin1.bias", false, 1, 2},
    Names{"mlp.down_proj.weight", "ffn.lin2.weight"},
    Names{"mlp.down_proj.bias", "ffn.lin2.bias"},
};

constexpr std::array bart_tables{
    Names{"shared.weight", "embeddings.weight"},
    Names{"encoder.embed_positions.weight", "encoder.position_embeddings.weight"},
    Names{"decoder.embed_positions.weight", "decoder.position_embeddings.weight"},
};

constexpr std::array bart_norms{
    Names{"encoder.layernorm_embedding.weight", "encoder.norm_embeddings.weight"},
    Names{"encoder.layernorm_embedding.bias", "encoder.norm_embeddings.bias"},
    Names{"decoder.layernorm_embedding.weight", "decoder.norm_embeddings.weight"},
    Names{"decoder.layernorm_embedding.bias", "decoder.norm_embeddings.bias"},
};

constexpr std::array blenderbot_norms{
    Names{"encoder.layer_norm.weight", "encoder.norm_embeddings.weight"},
    Names{"encoder.layer_norm.bias", "encoder.norm_embeddings.bias"},
    Names{"decoder.layer_norm.weight", "decoder.norm_embeddings.weight"},
    Names{"decoder.layer_norm.bias", "decoder.norm_embeddings.bias"},
};

// The modules of a layer have weights and biases.
struct Module {
    std::string_view theirs, ours;
    int part = 0, parts = 1;
};

constexpr std::array bart_encoder_layer{
    Module{"self_attn.q_proj", "attention.qkv", 0, 3},
    Module{"self_attn.k_proj", "attention.qkv", 1, 3},
    Module{"self_attn.v_proj", "attention.qkv", 2, 3},
    Module{"self_attn.out_proj", "attention.out"},
    Module{"self_attn_layer_norm", "norm1"},
    Module{"fc1", "ffn.lin1"},
    Module{"fc2", "ffn.lin2"},
    Module{"final_layer_norm", "norm2"},
};

constexpr std::array bart_decoder_layer{
    Module{"self_attn.q_proj", "self_attention.qkv", 0, 3},
    Module{"self_attn.k_proj", "self_attention.qkv", 1, 3},
    Module{"self_attn.v_proj", "self_attention.qkv", 2, 3},
    Module{"self_attn.out_proj", "self_attention.out"},
    Module{"self_attn_layer_norm", "norm1"},
    Module{"encoder_attn.q_proj", "encoder_attention.q"},
    Module{"encoder_attn.k_proj", "encoder_attention.kv", 0, 2},
    Module{"encoder_attn.v_proj", "encoder_attention.kv", 1, 2},
    Module{"encoder_attn.out_proj", "encoder_attention.out"},
    Module{"encoder_attn_layer_norm", "norm2"},
    Module{"fc1", "ffn.lin1"},
    Module{"fc2", "ffn.lin2"},
    Module{"final_layer_norm", "norm3"},
};

std::string_view without_prefix(std::string_view theirs, std::string_view prefix) noexcept {
    if (theirs.starts_with(prefix)) theirs.remove_prefix(prefix.size());
    return theirs;
}

std::string_view without_gpt2_prefix(std::string_view theirs) noexcept {
    return without_prefix(theirs, "transformer.");
}

// The parts of a name such as "h.11.ln_1.bias"; an empty layer if it is no layer's.
struct LayerName {
    std::string_view layer, rest;
};

LayerName layer_name(std::string_view name, std::string_view prefix) noexcept {
    if (!name.starts_with(prefix)) return {};
    name.remove_prefix(prefix.size());
    const std::size_t dot = name.find('.');
    const std::string_view layer = name.substr(0, std::min(dot, name.size()));
    if (layer.empty() || dot == std::string_view::npos ||
        layer.find_first_not_of("0123456789") != std::string_view::npos)
        return {};
    return {layer, name.substr(dot + 1)};
}

std::optional<KnownTensor> find(std::span<const Names> names, std::string_view theirs,
                                const std::string& before) {
    const auto found = std::ranges::find(names, theirs, &Names::theirs);
    if (found == names.end()) return std::nullopt;
    return KnownTensor{before + std::string(found->ours), found->turned, found->part, found->parts};
}

std::optional<KnownTensor> find(std::span<const Names> tables, std::span<const Names> of_layer,
                                std::string_view name, std::string_view layers) {
    if (auto table = find(tables, name, "")) return table;
    const LayerName parts = layer_name(name, layers);
    if (parts.layer.empty()) return std::nullopt;
    return find(of_layer, parts.rest, "decoder.layers." + std::string(parts.layer) + ".");
}

std::optional<KnownTensor> find(std::span<const Module> modules, std::string_view theirs,
                                const std::string& before) {
    const std::size_t dot = theirs.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view end = theirs.substr(dot);
    const auto found = std::ranges::find(modules, theirs.substr(0, dot), &Module::theirs);
    if (found == modules.end() || (end != ".weight" && end != ".bias")) return std::nullopt;
    return KnownTensor{before + std::string(found->ours) + std::string(end), false, found->part,
                       found->parts};
}

std::optional<KnownTensor> find_in_stacks(std::string_view name) {
    for (const std::span<const Names> tables :
         {std::span<const Names>(bart_tables), std::span<const Names>(bart_norms),
          std::span<const Names>(blenderbot_norms)})
        if (auto table = find(tables, name, "")) return table;
    const auto in = [&](const std::string& layers, std::span<const Module> modules) {
        const LayerName parts = layer_name(name, layers);
        return parts.layer.empty()
                   ? std::nullopt
                   : find(modules, parts.rest, layers + std::string(parts.layer) + ".");
    };
    if (auto encoder = in("encoder.layers.", bart_encoder_layer)) return encoder;
    return in("decoder.layers.", bart_decoder_layer);
}

}  // namespace

std::optional<KnownTensor> of_transformers(std::string_view theirs) {
    for (const std::span<const Names> layer :
         {std::span<const Names>(llama_layer), std::span<const Names>(phi3_layer)})
        if (auto llama = find(llama_tables, layer, theirs, "model.layers.")) return llama;
    if (auto bart = find_in_stacks(without_prefix(theirs, "model."))) return bart;
    return find(gpt2_tables, gpt2_layer, without_gpt2_prefix(theirs), "h.");
}

namespace {

// Of tokens, or of the output.
bool is_table(std::string_view ours) noexcept {
    return ours == llama_tables.front().ours || ours == llama_tables.back().ours;
}

}  // namespace

std::string adapter_name(const KnownTensor& matrix, LoraFactor factor) {
    const std::string_view weight = ".weight";
    std::string name = matrix.name.substr(0, matrix.name.size() - weight.size());
    if (matrix.parts > 1) name += "." + std::to_string(matrix.part);
    return name + (factor == LoraFactor::a ? ".lora_a.weight" : ".lora_b.weight");
}

std::optional<KnownTensor> of_peft(std::string_view theirs) {
    if (!theirs.starts_with(peft_prefix)) return std::nullopt;
    theirs.remove_prefix(peft_prefix.size());
    for (const LoraFactor factor : {LoraFactor::a, LoraFactor::b}) {
        const std::string_view ending =
            factor == LoraFactor::a ? ".lora_A.weight" : ".lora_B.weight";
        if (!theirs.ends_with(ending)) continue;
        theirs.remove_suffix(ending.size());
        const auto matrix = of_transformers(std::string(theirs) + ".weight");
        if (!matrix) return std::nullopt;
        return KnownTensor{adapter_name(*matrix, factor), factor == LoraFactor::b};
    }
    const auto whole = of_transformers(theirs);
    return whole && is_table(whole->name) ? whole : std::nullopt;
}

bool is_logits_bias(std::string_view theirs) noexcept { return theirs == logits_bias; }

bool is_table_of_stacks(std::string_view theirs) noexcept {
    constexpr std::array<std::string_view, 4> tables{"shared.weight", "encoder.embed_tokens.weight",
                                                     "decoder.embed_tokens.weight",
                                                     "lm_head.weight"};
    return std::ranges::find(tables, without_prefix(theirs, "model.")) != tables.end();
}

bool is_buffer(std::string_view theirs) noexcept {
    const std::string_view of_gpt2 = layer_name(without_gpt2_prefix(theirs), "h.").rest;
    return of_gpt2 == "attn.bias" || of_gpt2 == "attn.masked_bias" ||
           theirs.ends_with("rotary_emb.inv_freq");
}

NamesOf names_of(std::string_view theirs) noexcept {
    if (theirs.starts_with(peft_prefix)) return NamesOf::peft;
    if (theirs == llama_tables.front().theirs) return NamesOf::llama;
    if (is_table_of_stacks(theirs) && !theirs.ends_with("lm_head.weight")) return NamesOf::bart;
    return without_gpt2_prefix(theirs) == gpt2_tables.front().theirs ? NamesOf::gpt2
                                                                     : NamesOf::lockstep;
}

namespace {

std::vector<ForeignName> found_ours(std::span<const Names> names, std::string_view ours,
                                    const std::string& before) {
    std::vector<ForeignName> found;
    for (const Names& row : names)
        if (row.ours == ours) found.push_back({before + std::string(row.theirs), row.turned});
    return found;
}

std::vector<ForeignName> names_in_layer(std::span<const Module> modules, std::string_view ours,
                                        const std::string& before) {
    const std::size_t dot = std::min(ours.rfind('.'), ours.size());
    std::vector<ForeignName> found;
    for (const Module& module : modules)
        if (module.ours == ours.substr(0, dot))
            found.push_back({before + std::string(module.theirs) + std::string(ours.substr(dot))});
    return found;
}

// Modules of encoders and decoders, which have weights and biases.
std::vector<ForeignName> names_in_stacks(NamesOf names, std::string_view ours) {
    const std::span<const Names> norms =
        names == NamesOf::bart ? std::span<const Names>(bart_norms) : blenderbot_norms;
    for (const std::span<const Names> tables : {std::span<const Names>(bart_tables), norms})
        if (auto found = found_ours(tables, ours, "model."); !found.empty()) return found;
    const auto in = [&](const std::string& layers, std::span<const Module> modules) {
        const LayerName parts = layer_name(ours, layers);
        return parts.layer.empty()
                   ? std::vector<ForeignName>()
                   : names_in_layer(modules, parts.rest,
                                    "model." + layers + std::string(parts.layer) + ".");
    };
    auto encoder = in("encoder.layers.", bart_encoder_layer);
    return encoder.empty() ? in("decoder.layers.", bart_decoder_layer) : encoder;
}

}  // namespace

bool is_norm_of_blenderbot(std::string_view theirs) noexcept {
    return std::ranges::find(blenderbot_norms, without_prefix(theirs, "model."), &Names::theirs) !=
           blenderbot_norms.end();
}

bool is_matrix_of_phi3(std::string_view theirs) noexcept {
    return std::ranges::any_of(phi3_layer,
                               [&](const Names& row) { return theirs.ends_with(row.theirs); });
}

bool is_encoder_decoder(NamesOf names) noexcept {
    return names == NamesOf::bart || names == NamesOf::blenderbot;
}

std::vector<ForeignName> names_in_transformers(NamesOf names, std::string_view ours) {
    const bool gpt2 = names == NamesOf::gpt2;
    if (names == NamesOf::peft) return {};
    if (names == NamesOf::lockstep) return {ForeignName{std::string(ours)}};
    if (is_encoder_decoder(names)) return names_in_stacks(names, ours);
    const std::span<const Names> tables =
        gpt2 ? std::span<const Names>(gpt2_tables) : std::span<const Names>(llama_tables);
    auto found = found_ours(tables, ours, gpt2 ? "transformer." : "");
    const LayerName parts = layer_name(ours, "decoder.layers.");
    if (!found.empty() || parts.layer.empty()) return found;
    const std::span<const Names> of_layer =
        gpt2 ? std::span<const Names>(gpt2_layer) : std::span<const Names>(llama_layer);
    const std::string layer =
        (gpt2 ? "transformer.h." : "model.layers.") + std::string(parts.layer) + ".";
    if (names == NamesOf::phi3) found = found_ours(phi3_layer, parts.rest, layer);
    return found.empty() ? found_ours(of_layer, parts.rest, layer) : found;
}

namespace {

std::string_view shape_keys_of_gpt2(std::string_view rest, bool of_layer) noexcept {
    if (rest.starts_with("ffn.")) return "n_embd, n_inner";
    if (of_layer) return "n_embd";
    return rest.starts_with("embeddings") ? "n_embd, vocab_size" : "n_embd, n_positions";
}

std::string_view shape_keys_of_llama(std::string_view rest, bool of_layer) noexcept {
    if (rest.starts_with("ffn.")) return "hidden_size, intermediate_size";
    if (rest.starts_with("self_attention."))
        return "hidden_size, num_attention_heads, num_key_value_heads, head_dim";
    return of_layer || rest.ends_with("norm_embeddings.weight") ? "hidden_size"
                                                                : "hidden_size, vocab_size";
}

std::string_view keys_of_stacks(std::string_view ours, Deciding what) noexcept {
    if (what == Deciding::presence)
        return ours.starts_with("encoder.") ? "encoder_layers" : "decoder_layers";
    if (ours.find(".ffn.") != std::string_view::npos) return "d_model, encoder_ffn_dim";
    if (ours.ends_with("position_embeddings.weight")) return "d_model, max_position_embeddings";
    return ours == bart_tables.front().ours ? "d_model, vocab_size" : "d_model";
}

}  // namespace

std::string_view deciding_keys(NamesOf names, std::string_view ours, Deciding what) noexcept {
    if (is_encoder_decoder(names)) return keys_of_stacks(ours, what);
    if (names == NamesOf::peft && is_table(ours))
        return what == Deciding::presence ? "modules_to_save" : "base_model_name_or_path";
    if (names == NamesOf::peft)
        return what == Deciding::presence ? "target_modules"
                                          : "r, rank_pattern, base_model_name_or_path";
    if (names == NamesOf::lockstep) return "";
    const bool gpt2 = names == NamesOf::gpt2;
    const std::string_view rest = layer_name(ours, "decoder.layers.").rest;
    const bool of_layer = !rest.empty();
    const std::string_view name = of_layer ? rest : ours;
    if (what == Deciding::shape)
        return gpt2 ? shape_keys_of_gpt2(name, of_layer) : shape_keys_of_llama(name, of_layer);
    if (name == "lm_head.weight") return "tie_word_embeddings";
    if (name.ends_with(".bias") && !gpt2) return "attention_bias, mlp_bias, model_type";
    if (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight")) return "model_type";
    return gpt2 ? "n_layer" : "num_hidden_layers";
}

}  // namespace lockstep::train
