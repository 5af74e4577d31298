// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "launcher/model_folder/model_folder.hpp"
#include "model/config.hpp"

namespace lockstep::launcher {

inline constexpr const char* adapter_config_file = "adapter_config.json";
inline constexpr const char* adapter_weights_file = "adapter_model.safetensors";

// Tells whether the folder holds adapters as PEFT writes them, and no model: at most the
// config.json of their base beside them.
bool is_adapter_folder(const std::string& folder);

// Returns the model that the base and the adapters of such a folder are together. `base` may name
// another folder of the base than adapter_config.json does; empty: it does not. Throws a config
// error if there is no base, or if its adapters are not built.
OpenedModel open_adapter_folder(const std::string& folder, const std::string& base = "");

// The values of --lora-r and its relatives.
struct LoraChoice {
    std::int64_t rank = 0;  // 0: no adapters
    double alpha = 0;       // 0: twice the rank
    std::string modules = "all-linear";
    std::string modules_to_save;  // trained whole
    bool ensure_weight_tying = false;
    bool rank_stabilized = false;
    float dropout = 0;
    std::string adapter;  // folder of adapters to begin with; empty: new ones
};

// Returns the model with the adapters that the options add to it. `source` tells where the model is
// from; a folder with adapters keeps its own, and options that were `given` must agree with them.
// Throws a config error that names the option.
model::ModelConfig with_adapters(const model::ModelConfig& model, const ModelSource& source,
                                 const LoraChoice& choice, const std::set<std::string>& given);

// Returns the file of the base's weights. Throws a config error if the base is not there.
std::string base_weights(const model::Lora& lora);

}  // namespace lockstep::launcher
