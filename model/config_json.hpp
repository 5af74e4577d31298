// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"

namespace lockstep::model {

// Returns the name of --model and config.json, such as "gpt2".
const char* name(Kind kind) noexcept;

// Returns the text of config.json: one indented object with ParlAI's option names
// (docs/model-format.md).
std::string to_json(const ModelConfig& config);

// Reads and validates a config. Throws kind config naming `origin` (a file) and the member that is
// missing or wrong. Unknown members are ignored, so that other tools may add their own.
ModelConfig config_from_json(const std::string& text, const std::string& origin);

}  // namespace lockstep::model
