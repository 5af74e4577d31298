// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"

namespace lockstep::train {

NamesOf names_of(const std::vector<TensorInfo>& tensors) noexcept;

// Takes off the prefix that a wrapper puts before the names of a model's tensors, which all of them
// have then: "module." of DistributedDataParallel, "_orig_mod." of torch.compile, or "model." of a
// module that holds the model. Names that are not a model's without it stay.
void drop_wrappers(std::vector<TensorInfo>& tensors);

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
