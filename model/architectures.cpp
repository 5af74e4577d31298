// SPDX-License-Identifier: Apache-2.0
#include "model/architectures.hpp"

#include <algorithm>
#include <array>

namespace lockstep::model {

namespace {

using kernels::Activation;

constexpr std::array<Architecture, 2> rows{{
    {.kind = Kind::generator,
     .name = "transformer/generator",
     .talks_as = "TransformerGenerator",
     .stacks = Stacks::encoder_and_decoder,
     .distributions = Distributions::parlai,
     .row_limit = RowLimit::truncation,
     .qkv_parts = 3},
    // GPT-2 itself has one matrix for queries, keys and values.
    {.kind = Kind::gpt2,
     .name = "gpt2",
     .talks_as = "Gpt2",
     .stacks = Stacks::decoder,
     .distributions = Distributions::gpt2,
     .row_limit = RowLimit::none,
     .qkv_parts = 1,
     .variant = Fixed<Variant>{Variant::prelayernorm, Variant::prelayernorm,
                               "is of the variant prelayernorm"},
     .activation =
         Fixed<Activation>{Activation::gelu_tanh, Activation::gelu_erf, "has its own gelu"},
     .positions = Fixed<Positions>{Positions::learned, Positions::learned, "learns its positions"},
     .embedding_scale = Fixed<EmbeddingScale>{EmbeddingScale::none, EmbeddingScale::none,
                                              "takes embeddings as they are"}},
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
}

bool has_encoder(const ModelConfig& config) noexcept {
    return architecture(config.kind).stacks == Stacks::encoder_and_decoder;
}

}  // namespace lockstep::model
