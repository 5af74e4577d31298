// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/checkpoints/conversion.hpp"

namespace lockstep::launcher::checkpoints {

// Writes the folder `conversion.to` of a model of transformers: the weights of a .safetensors file
// or of the files that an index names, and config.json and the tokenizer's files of the model in
// `like`. Returns what was written, in words. Throws kind config if names or shapes do not fit, or
// if transformers has no such models.
std::string write_transformers_folder(const std::string& weights, const std::string& like,
                                      const Conversion& conversion);

}  // namespace lockstep::launcher::checkpoints
