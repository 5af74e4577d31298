// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "model/config.hpp"

namespace lockstep::model {

enum class Stacks { encoder_and_decoder, decoder };

// The distributions from which matrices start (parameter_rows.hpp).
enum class Distributions { parlai, gpt2 };

// What bounds the length of rows if --n-positions does not: the truncation of rows, or nothing.
enum class RowLimit { truncation, none };

// A property that a family decides itself.
template <class T>
struct Fixed {
    T value;
    T typed;             // the value that an option may repeat
    const char* always;  // for messages, behind "always"
};

// Says how one family of models differs from the others. A new family is a value of Kind and a row
// of architectures().
struct Architecture {
    Kind kind;
    const char* name;      // of --model and in config.json
    const char* talks_as;  // its name in logs of conversations
    Stacks stacks;
    Distributions distributions;
    RowLimit row_limit;
    // Says whether that of queries, keys and values stands for three matrices (Parameter::parts).
    Has separate_qkv;
    // Without a value the options decide.
    std::optional<Fixed<Variant>> variant = {};
    std::optional<Fixed<kernels::Activation>> activation = {};
    std::optional<Fixed<Positions>> positions = {};
    std::optional<Fixed<EmbeddingScale>> embedding_scale = {};
    // The parts of a model that begins from nothing. With a value config.json tells a model's own.
    std::optional<LayerParts> parts = {};
    // Rows of learned positions that stand before that of the first token and that no token has.
    std::int64_t unused_positions = 0;
};

std::span<const Architecture> architectures() noexcept;
const Architecture& architecture(Kind kind) noexcept;

// Gives the members that the config's family decides their values.
void apply_fixed(ModelConfig& config) noexcept;

bool has_encoder(const ModelConfig& config) noexcept;

}  // namespace lockstep::model
