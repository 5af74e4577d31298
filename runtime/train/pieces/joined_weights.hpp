// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "runtime/train/parameter_table.hpp"

namespace lockstep::train {

// Says whether the file's metadata shall tell the checksum of its tensors, which takes a second
// reading.
enum class Checksum { left_out, told };

// Writes the weights whose pieces lie in `parts` as one file of whole tensors with the names of
// `names`. It takes the memory of a few MiB, or of the largest tensor that is turned.
WrittenFile join_weights(const std::string& path, const std::vector<std::string>& parts,
                         const ParameterTable& table, Checksum checksum, NamesOf names,
                         Metadata metadata = {}, const BeforeCommit& before_commit = {});

}  // namespace lockstep::train
