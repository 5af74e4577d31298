// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/huggingface_keys.hpp"

namespace lockstep::model {

// Reads the config of one family; keys.family() is its model_type. The result is not validated.
ModelConfig read_gpt2(ConfigKeys& keys);
ModelConfig read_llama(ConfigKeys& keys, Kind kind);  // and the families that are made like it
ModelConfig read_bart(ConfigKeys& keys, Kind kind);   // and the other encoder-decoders

}  // namespace lockstep::model
