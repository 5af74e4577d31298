// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/gpt2_names.hpp"

#include <algorithm>
#include <array>

namespace lockstep::train {
namespace {

struct Names {
    std::string_view theirs, ours;
    bool turned = false;
};

constexpr std::array tables{
    Names{"wte.weight", "embeddings.weight"},
    Names{"wpe.weight", "decoder.position_embeddings.weight"},
    Names{"ln_f.weight", "decoder.norm_embeddings.weight"},
    Names{"ln_f.bias", "decoder.norm_embeddings.bias"},
};

constexpr std::array of_layer{
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

std::string_view without_prefix(std::string_view theirs) noexcept {
    constexpr std::string_view prefix = "transformer.";
    if (theirs.starts_with(prefix)) theirs.remove_prefix(prefix.size());
    return theirs;
}

// The parts of a name such as "h.11.ln_1.bias"; an empty layer if it is no layer's.
struct LayerName {
    std::string_view layer, rest;
};

LayerName layer_name(std::string_view name) noexcept {
    if (!name.starts_with("h.")) return {};
    name.remove_prefix(2);
    const std::size_t dot = name.find('.');
    const std::string_view layer = name.substr(0, std::min(dot, name.size()));
    if (layer.empty() || dot == std::string_view::npos ||
        layer.find_first_not_of("0123456789") != std::string_view::npos)
        return {};
    return {layer, name.substr(dot + 1)};
}

}  // namespace

std::optional<KnownTensor> of_gpt2(std::string_view theirs) {
    const std::string_view name = without_prefix(theirs);
    const auto table = std::ranges::find(tables, name, &Names::theirs);
    if (table != tables.end()) return KnownTensor{std::string(table->ours), table->turned};
    const LayerName parts = layer_name(name);
    if (parts.layer.empty()) return std::nullopt;
    const auto found = std::ranges::find(of_layer, parts.rest, &Names::theirs);
    if (found == of_layer.end()) return std::nullopt;
    return KnownTensor{
        "decoder.layers." + std::string(parts.layer) + "." + std::string(found->ours),
        found->turned};
}

bool is_gpt2_mask(std::string_view theirs) noexcept {
    const LayerName parts = layer_name(without_prefix(theirs));
    return parts.rest == "attn.bias" || parts.rest == "attn.masked_bias";
}

bool is_gpt2_table(std::string_view theirs) noexcept {
    return without_prefix(theirs) == tables.front().theirs;
}

}  // namespace lockstep::train
