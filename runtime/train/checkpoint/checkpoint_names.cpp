// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_names.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <limits>
#include <utility>

#include "runtime/core/system_failure.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";

[[noreturn]] void fail_to_list(const std::string& folder, const std::error_code& failure) {
    const bool is_file = failure == std::errc::not_a_directory;
    throw SystemFailure(
        folder + ": cannot be read: " + failure.message() + "; nothing was changed: " +
            (is_file ? "give what has this name another one, as checkpoints are in a folder"
                     : "make this folder readable for the user of the run") +
            ", or choose another --model-file",
        failure.value());
}

// Only a folder that surely does not exist has no checkpoints. A link to a folder that is not there
// may lead to a disk that is not mounted.
bool is_absent(const std::string& folder, const std::error_code& failure) {
    std::error_code ignored;
    return failure == std::errc::no_such_file_or_directory &&
           fs::symlink_status(folder, ignored).type() == fs::file_type::not_found;
}

}  // namespace

std::string checkpoints_of(const std::string& model_folder) {
    return model_folder + "/checkpoints";
}

std::string checkpoint_name(std::int64_t step) {
    std::string digits = std::to_string(step);
    digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
    return std::string(prefix) + digits;
}

bool is_checkpoint_name(const std::string& name) {
    constexpr std::size_t most_digits = std::numeric_limits<std::int64_t>::digits10;
    return name.size() > prefix.size() && name.size() <= prefix.size() + most_digits &&
           name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

std::int64_t step_of(const std::string& name) {
    std::int64_t step = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
    return step;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure);
         !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        names.push_back(entry->path().filename().string());
    }
    if (failure && !is_absent(folder, failure)) fail_to_list(folder, failure);
    return names;
}

std::vector<std::string> checkpoints_among(const std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::ranges::copy_if(names, std::back_inserter(found), is_checkpoint_name);
    std::ranges::sort(found, std::ranges::greater{},
                      [](const std::string& name) { return std::pair(name.size(), name); });
    return found;
}

}  // namespace lockstep::train
