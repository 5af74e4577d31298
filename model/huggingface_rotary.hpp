// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/huggingface_keys.hpp"

namespace lockstep::model {

// Reads rotary positions from either generation of keys: rope_parameters of transformers 5, or
// rope_theta and rope_scaling of transformers 4. A theta inside of an object wins over the one
// outside; a config without any, or whose values differ, is refused.
Rotary read_rotary(ConfigKeys& keys, std::int64_t n_positions);

// Writes them in the keys of both generations.
void write_rotary(nlohmann::ordered_json& json, const Rotary& rotary);

}  // namespace lockstep::model
