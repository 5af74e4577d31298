// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// --checkpoint names a checkpoint of the model folder that a program reads: by its number of steps
// ("150", "step-150", "step-00000150"), by its path, or by one of these words.
inline constexpr const char* best_checkpoint = "best";  // the folder's model.safetensors
inline constexpr const char* last_checkpoint = "last";  // the newest one that is good

// Returns the path of the checkpoint in `folder` that `word` names; for the two words that of
// model.safetensors, or of the newest checkpoint, which is not verified. Throws a config error that
// lists what there is if there is no such checkpoint, and a data error if the checkpoint is of
// another step than its name tells.
std::string path_of_checkpoint(const std::string& folder, const std::string& word);

// Returns what to type instead of naming the checkpoint `path` as a model's folder:
// "-mf MODEL --checkpoint step-150". Empty: it is no path of a checkpoint in a model's folder.
std::string instead_of_checkpoint(const std::string& path);

// Throws a config error if `model_file`, which a run would write to, is a checkpoint of a model.
void require_no_checkpoint(const std::string& model_file);

}  // namespace lockstep::launcher
