// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/tokenizer_folder.hpp"

#include "launcher/model_folder/adapters.hpp"

namespace lockstep::launcher {

std::string folder_of_tokenizer(const std::string& folder) {
    return is_adapter_folder(folder) ? open_adapter_folder(folder).config.lora.base : folder;
}

}  // namespace lockstep::launcher
