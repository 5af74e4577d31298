// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::model {

enum class StackKind : std::uint32_t { encoder, decoder };

// Names the sites of a layer where elements are dropped; `embedding` belongs to layer 0.
enum class DropoutSite : std::uint32_t {
    embedding,
    self_probabilities,  // the first of one site per head
    self_output,
    cross_probabilities,  // the first of one site per head
    cross_output,
    ffn_hidden,
    ffn_output,
    adapter,  // the first of one site per adapter
};

constexpr std::int64_t max_heads = 1024;
constexpr std::int64_t max_layers = 4096;

// Returns a number that is unique for every site of a model, with room for a number per head. The
// numbers determine a run's random numbers: changing them changes every trained model.
constexpr std::uint32_t dropout_site(StackKind stack, std::size_t layer, DropoutSite site) {
    constexpr std::uint32_t sites = 8;
    const auto stack_and_layer = static_cast<std::uint32_t>(stack) * max_layers + layer;
    return static_cast<std::uint32_t>((stack_and_layer * sites + static_cast<std::uint32_t>(site)) *
                                      max_heads);
}

}  // namespace lockstep::model
