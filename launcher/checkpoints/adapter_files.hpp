// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/checkpoints/conversion.hpp"
#include "model/config.hpp"

namespace lockstep::launcher::checkpoints {

// Writes the adapters of a file of weights into a folder in PEFT's form: adapter_model.safetensors
// and adapter_config.json, each whole or not at all.
void write_adapters(const std::string& folder, const model::ModelConfig& config,
                    const std::string& weights);

// Writes the folder `to` with all that the folder of the adapters' base has, and merged weights: W
// + s B A, calculated in fp32 and rounded once to the type that W has there. `weights` is the file
// of the adapters. Throws a config error if the base is gone or has changed.
void write_merged(const std::string& to, const model::ModelConfig& config,
                  const std::string& weights, Existing existing);

}  // namespace lockstep::launcher::checkpoints
