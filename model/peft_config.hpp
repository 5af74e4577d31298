// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"
#include "model/parameter_rows.hpp"

namespace lockstep::model {

// Returns the "base_model_name_or_path" of an adapter_config.json of PEFT. Throws as the next
// function does.
std::string peft_base(const std::string& text, const std::string& origin);

// Reads an adapter_config.json for a base of this family; `base` and its hash stay empty. Throws
// kind config that names `origin` (a file) and the key if the adapters are of another kind, or of
// modules that Lockstep has no adapters for, also if nobody reads a key and it has a value.
Lora lora_from_peft(const std::string& text, const std::string& origin, Kind kind);

// Returns the adapter_config.json by which PEFT reads the model's adapters.
std::string to_peft(const ModelConfig& config);

// Returns PEFT's name of one of the adapters' parameter_rows(), also of a table that is trained
// whole.
std::string peft_name(const ModelConfig& config, const ParameterPlace& place);

}  // namespace lockstep::model
