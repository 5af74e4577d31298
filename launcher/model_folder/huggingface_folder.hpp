// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Tells whether the folder's config.json is that of a model of Hugging Face's transformers. Such a
// folder is read and never written to.
bool is_huggingface_folder(const std::string& folder);

}  // namespace lockstep::launcher
