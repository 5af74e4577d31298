// SPDX-License-Identifier: Apache-2.0
#include "model/architectures.hpp"

#include <algorithm>
#include <array>

namespace lockstep::model {

namespace {

using kernels::Activation;

constexpr LayerParts llama_parts{.norm = kernels::NormKind::rms,
                                 .gate = Has::yes,
                                 .qkv_bias = Has::no,
                                 .out_bias = Has::no,
                                 .ffn_bias = Has::no,
                                 .own_head = Has::yes};

constexpr LayerParts with_qkv_bias(LayerParts parts) {
    parts.qkv_bias = Has::yes;
    return parts;
}

constexpr LayerParts with_head_norms(LayerParts parts) {
    parts.head_norms = Has::yes;
    return parts;
}

// LLaMA and the families that are made like it.
constexpr Architecture like_llama(Kind kind, const char* name, const char* talks_as,
                                  const LayerParts& parts) {
    return {
        .kind = kind,
        .name = name,
        .talks_as = talks_as,
        .stacks = Stacks::decoder,
        .distributions = Distributions::gpt2,
        .row_limit = RowLimit::none,
        .separate_qkv = Has::yes,
        .variant = Fixed<Variant>{Variant::prelayernorm, Variant::prelayernorm,
                                  "has its norms before its branches"},
        .activation = Fixed<Activation>{Activation::silu, Activation::silu, "has silu"},
        .positions = Fixed<Positions>{Positions::rotary, Positions::rotary, "has rotary positions"},
        .embedding_scale = Fixed<EmbeddingScale>{EmbeddingScale::none, EmbeddingScale::none,
                                                 "takes embeddings as they are"},
        .parts = parts};
}

// The encoder-decoders of transformers, which are variants of ParlAI's.
constexpr Architecture encoder_decoder(Kind kind, const char* name, const char* talks_as,
                                       const Fixed<Variant>& variant) {
    return {.kind = kind,
            .name = name,
            .talks_as = talks_as,
            .stacks = Stacks::encoder_and_decoder,
            .distributions = Distributions::parlai,
            .row_limit = RowLimit::truncation,
            .separate_qkv = Has::yes,
            .variant = variant,
            .positions =
                Fixed<Positions>{Positions::learned, Positions::learned, "learns its positions"}};
}

constexpr Architecture with_unused_positions(Architecture family, std::int64_t rows) {
    family.unused_positions = rows;
    return family;
}

constexpr std::array<Architecture, 10> rows{{
    {.kind = Kind::generator,
     .name = "transformer/generator",
     .talks_as = "TransformerGenerator",
     .stacks = Stacks::encoder_and_decoder,
     .distributions = Distributions::parlai,
     .row_limit = RowLimit::truncation,
     .separate_qkv = Has::yes},
    // GPT-2 itself has one matrix for queries, keys and values.
    {.kind = Kind::gpt2,
     .name = "gpt2",
     .talks_as = "Gpt2",
     .stacks = Stacks::decoder,
     .distributions = Distributions::gpt2,
     .row_limit = RowLimit::none,
     .separate_qkv = Has::no,
     .variant = Fixed<Variant>{Variant::prelayernorm, Variant::prelayernorm,
                               "is of the variant prelayernorm"},
     .activation =
         Fixed<Activation>{Activation::gelu_tanh, Activation::gelu_erf, "has its own gelu"},
     .positions = Fixed<Positions>{Positions::learned, Positions::learned, "learns its positions"},
     .embedding_scale = Fixed<EmbeddingScale>{EmbeddingScale::none, EmbeddingScale::none,
                                              "takes embeddings as they are"}},
    like_llama(Kind::llama, "llama", "Llama", llama_parts),
    like_llama(Kind::mistral, "mistral", "Mistral", llama_parts),
    like_llama(Kind::qwen2, "qwen2", "Qwen2", with_qkv_bias(llama_parts)),
    like_llama(Kind::qwen3, "qwen3", "Qwen3", with_head_norms(llama_parts)),
    like_llama(Kind::phi3, "phi3", "Phi3", llama_parts),
    with_unused_positions(encoder_decoder(Kind::bart, "bart", "Bart",
                                          {Variant::bart, Variant::bart, "is of the variant bart"}),
                          2),
    encoder_decoder(
        Kind::blenderbot, "blenderbot", "Blenderbot",
        {Variant::prelayernorm, Variant::prelayernorm, "is of the variant prelayernorm"}),
    encoder_decoder(Kind::blenderbot_small, "blenderbot-small", "BlenderbotSmall",
                    {Variant::xlm, Variant::xlm, "is of the variant xlm"}),
}};

template <class T>
void apply(const std::optional<Fixed<T>>& fixed, T& member) noexcept {
    if (fixed) member = fixed->value;
}

}  // namespace

std::span<const Architecture> architectures() noexcept { return rows; }

const Architecture& architecture(Kind kind) noexcept {
    return *std::ranges::find(rows, kind, &Architecture::kind);
}

void apply_fixed(ModelConfig& config) noexcept {
    const Architecture& family = architecture(config.kind);
    apply(family.variant, config.variant);
    apply(family.activation, config.activation);
    apply(family.positions, config.positions);
    apply(family.embedding_scale, config.embedding_scale);
    config.parts = family.parts.value_or(LayerParts());
}

bool has_encoder(const ModelConfig& config) noexcept {
    return architecture(config.kind).stacks == Stacks::encoder_and_decoder;
}

}  // namespace lockstep::model
