// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/huggingface_folder.hpp"

#include "model/huggingface_config.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

bool is_huggingface_folder(const std::string& folder) {
    const std::string path = folder + "/config.json";
    return is_file(path) && model::is_huggingface_config(read_json_text(path, "cannot be read"));
}

}  // namespace lockstep::launcher
