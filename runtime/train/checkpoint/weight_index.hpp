// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::train {

// The file that names the files of a model of transformers that is stored in several.
inline constexpr const char* weight_index_file = "model.safetensors.index.json";

// Tells whether the path is that of such a file.
bool is_weight_index(std::string_view path) noexcept;

// Returns the paths of the files that the index names, each once, in order. Throws kind data that
// names the index if it is none, and kind config if a file is missing.
std::vector<std::string> files_of_index(const std::string& index);

// Throws kind data unless these are the tensors that the index names, each once.
void require_tensors_of_index(const std::string& index, const std::vector<TensorInfo>& tensors);

}  // namespace lockstep::train
