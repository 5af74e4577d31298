// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"

namespace lockstep::model {

// The ids that a new config.json tells.
struct HuggingfaceTokens {
    std::optional<std::int32_t> begin, pad;
    std::vector<std::int32_t> ends;
    // Of a model with an encoder: what its decoder reads first, and what begins each reply.
    std::optional<std::int32_t> start, first;
};

// Tells whether transformers has models of this kind.
bool has_huggingface_form(Kind kind) noexcept;

// Returns the text of the config.json with which transformers reads the model, whose tensors have
// the type `dtype` ("float32", "bfloat16" or "float16"). `before` is the text of the config.json
// that the model came with: all keys stay but the type and those whose values the config has
// otherwise, and the class of a model without a head, which has one here. Empty: all keys are new,
// in the forms of transformers 4 and 5.
std::string config_for_huggingface(const ModelConfig& config, const std::string& dtype,
                                   const std::string& before, const HuggingfaceTokens& tokens);

}  // namespace lockstep::model
