// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "model/config.hpp"

namespace lockstep::launcher {

// Names the option and the member of a model that changes no weight. A run may change it, and its
// value is that of the newest checkpoint.
struct FreeRate {
    const char* option;
    float model::ModelConfig::*value;
};

inline constexpr std::array free_rates{
    FreeRate{"dropout", &model::ModelConfig::dropout},
    FreeRate{"attention-dropout", &model::ModelConfig::attention_dropout},
    FreeRate{"relu-dropout", &model::ModelConfig::relu_dropout},
    FreeRate{"label-smoothing", &model::ModelConfig::label_smoothing},
    FreeRate{"z-loss", &model::ModelConfig::z_loss}};

}  // namespace lockstep::launcher
