// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"

namespace lockstep::train {

NamesOf names_of(const std::vector<TensorInfo>& tensors) noexcept;

// Takes the constants out, and returns their names.
std::vector<std::string> take_buffers(std::vector<TensorInfo>& tensors);

// Takes what is no parameter here out of the tensors of an encoder-decoder and returns it: copies
// of its table of embeddings, which a file may hold under any of its names, and biases of the
// logits.
std::vector<TensorInfo> take_copies_of_shared(std::vector<TensorInfo>& tensors);

// Returns the tensors with the names and shapes that they have in Lockstep; those that it does not
// know keep theirs. Throws kind config that names `path` if two have one name, or if one lacks some
// of its rows.
std::vector<TensorInfo> with_own_names(const std::string& path, std::vector<TensorInfo> tensors);

}  // namespace lockstep::train
