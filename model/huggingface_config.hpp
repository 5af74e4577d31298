// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"

namespace lockstep::model {

// Tells whether the text of a config.json is that of a model of Hugging Face's transformers.
bool is_huggingface_config(const std::string& text);

// Reads the config.json of a model of one of the families of docs/models.md. Throws kind config
// that names `origin` (a file) and the key if the model is another one, or one that Lockstep does
// not calculate, also if nobody reads the key and its value is not its class's default.
ModelConfig config_from_huggingface(const std::string& text, const std::string& origin);

}  // namespace lockstep::model
