// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lockstep::launcher::checkpoints {

// The weights of a folder of Hugging Face's transformers.
struct HuggingfaceWeights {
    // Paths of files that are there, and the tensors that the index names in them; without an index
    // none.
    std::map<std::string, std::set<std::string>> files;
    std::vector<std::string> findings;  // what is not as it must be
};

// Looks for them without reading them.
HuggingfaceWeights huggingface_weights(const std::string& folder);

}  // namespace lockstep::launcher::checkpoints
