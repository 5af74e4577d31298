// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace lockstep::launcher {

// Says what to do instead of giving options of these names. They are separated by blanks, without
// leading dashes and underscores; one that ends in * means all names that begin so.
struct OptionHabit {
    std::string_view names;
    const char* instead;
};

// Returns the options of trainers that users know besides ParlAI: those of transformers, TRL,
// accelerate, DeepSpeed, fairseq, Megatron-LM and nanoGPT, and of what generates with their models.
std::span<const OptionHabit> trainer_habits() noexcept;

}  // namespace lockstep::launcher
