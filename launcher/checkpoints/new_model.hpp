// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/checkpoints/conversion.hpp"

namespace lockstep::launcher::checkpoints {

// Writes the folder of a model that has the weights of a .safetensors file and the config.json and
// tokenizer of the model in `like`. An existing folder is replaced only if it has no other files
// than the new one. Throws kind config if names or shapes do not fit the config.
void write_model_folder(const std::string& weights, const std::string& like, const std::string& to,
                        Existing existing);

// Writes a folder that `fill_folder` fills. An existing one is replaced as above.
void write_new_folder(const std::string& to, Existing existing,
                      const std::function<void(const std::string&)>& fill_folder);

// Makes the folder that `path` is in. Throws kind config if a file has its name.
void make_parent(const std::string& path);

}  // namespace lockstep::launcher::checkpoints
