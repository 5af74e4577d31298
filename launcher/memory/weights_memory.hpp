// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/memory/memory_limits.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Throws a config error if the weights of the model in config.model_file alone take more of a CPU's
// memory than this host or a control group has: the kernel would kill the process without a word.
// Warns where they take more than is free now. A model that cannot be read, and one for a GPU, is
// not looked at.
void require_room_for_weights(const RunConfig& config);

// Returns the bytes of the weights in config.model_file: a CPU computes with fp32, and a bf16 copy
// comes on top. Returns 0 where the file cannot hold as many as config.json says: whoever reads the
// model tells that.
std::int64_t bytes_of_weights(const RunConfig& config);

// Throws a config error if so many prompts that are answered together have for certain no room
// beside the weights. Returns a warning if they may have none; empty: they have. `size_option` says
// how many they are.
std::string require_room_for_prompts(std::int64_t weights, std::int64_t prompts,
                                     const MemoryNeed& need, const std::vector<MemoryLimit>& limits,
                                     const std::string& size_option = "--batchsize");

// Does so for weights of so many bytes.
void require_room_for_weights(std::int64_t bytes, const std::string& model_file,
                              const std::vector<MemoryLimit>& limits);

}  // namespace lockstep::launcher
