// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"

namespace lockstep::model {

// "gpt2": as --model and config.json call it.
const char* name(Kind kind) noexcept;

// config.json: one object with ParlAI's option names (docs/model-format.md), indented.
std::string to_json(const ModelConfig& config);

// Throws a config error that names `origin` (a file) and the member that is missing or wrong.
// Unknown members are ignored, so that other tools may add theirs. The result is validated.
ModelConfig config_from_json(const std::string& text, const std::string& origin);

}  // namespace lockstep::model
