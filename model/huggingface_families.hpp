// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "model/huggingface_keys.hpp"

namespace lockstep::model {

struct ReadFamily {
    const char* model_type;
    const char* architecture;  // the class of its language model
    Kind kind;
    const char* base = "";  // a class without a head of its own, which holds the same model
};

std::span<const ReadFamily> read_families() noexcept;
// Returns null if transformers has no models of the kind.
const ReadFamily* find_family(Kind kind) noexcept;

// Reads the config of one family; keys.family() is its model_type. The result is not validated.
ModelConfig read_gpt2(ConfigKeys& keys);
ModelConfig read_llama(ConfigKeys& keys, Kind kind);  // and the families that are made like it
ModelConfig read_bart(ConfigKeys& keys, Kind kind);   // and the other encoder-decoders

// Writes the keys of the values that the config has otherwise than `before`; of all without one.
void write_gpt2(nlohmann::ordered_json& json, const ModelConfig& config, const ModelConfig* before);
void write_llama(nlohmann::ordered_json& json, const ModelConfig& config,
                 const ModelConfig* before);
void write_bart(nlohmann::ordered_json& json, const ModelConfig& config, const ModelConfig* before);

}  // namespace lockstep::model
