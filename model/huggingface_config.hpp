// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"

namespace lockstep::model {

// Tells whether the text of a config.json is that of a model of Hugging Face's transformers.
bool is_huggingface_config(const std::string& text);

// Reads the config.json of a GPT2LMHeadModel. Throws kind config that names `origin` (a file) and
// the member if the model is another one, or one that gpt2 does not calculate.
ModelConfig config_from_huggingface(const std::string& text, const std::string& origin);

}  // namespace lockstep::model
