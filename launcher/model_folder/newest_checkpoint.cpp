// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/newest_checkpoint.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace lockstep::launcher {

std::string newest_checkpoint_name(const std::string& model_folder) {
    const std::string prefix = "step-";
    std::string newest;
    // A larger number of steps has a longer name, or a later one of the same length.
    const auto is_newer = [&](const std::string& name) {
        return std::pair(name.size(), name) > std::pair(newest.size(), newest);
    };
    std::error_code failure;
    std::filesystem::directory_iterator entry(model_folder + "/checkpoints", failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        std::string name = entry->path().filename();
        const bool complete =
            name.starts_with(prefix) && name.size() > prefix.size() &&
            name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
        if (complete && is_newer(name)) newest = std::move(name);
    }
    return newest;
}

std::string last_checkpoint_text(const std::string& model_folder) {
    const std::string newest = newest_checkpoint_name(model_folder);
    if (newest.empty()) return "there is no checkpoint";
    return "the last checkpoint is " + model_folder + "/checkpoints/" + newest;
}

}  // namespace lockstep::launcher
