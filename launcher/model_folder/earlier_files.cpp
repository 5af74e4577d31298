// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/earlier_files.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

constexpr std::array names{"model.safetensors", "metrics.jsonl", "report.json"};

// Returns "metrics-before-2.jsonl".
std::string name_before(const fs::path& name, int number) {
    return name.stem().string() + "-before-" + std::to_string(number) + name.extension().string();
}

bool is_free(const std::string& folder, int number) {
    for (const char* name : names)
        if (path_exists(folder + "/" + name_before(name, number))) return false;
    return true;
}

bool has_content(const std::string& path) {
    std::error_code unknown;
    return path_exists(path) && fs::file_size(path, unknown) > 0;
}

// Tells whether an earlier start has given the file a second name already.
bool is_kept(const std::string& folder, const char* name, int next) {
    std::error_code unknown;
    for (int number = 1; number < next; ++number)
        if (fs::equivalent(folder + "/" + name, folder + "/" + name_before(name, number), unknown))
            return true;
    return false;
}

// Some file systems have no second names.
void copy_file(const std::string& from, const std::string& to) {
    const std::string unfinished = train::leftover_name(to);
    std::error_code failure;
    if (!fs::copy_file(from, unfinished, failure)) {
        std::error_code ignored;
        fs::remove(unfinished, ignored);
        throw SystemFailure(to + ": cannot be written: " + failure.message() +
                                "; it is to keep the weights that the run would replace",
                            failure.value());
    }
    sync_file(unfinished);
    train::rename_over(unfinished, to);
}

void give_second_name(const std::string& from, const std::string& to) {
    std::error_code failure;
    fs::create_hard_link(fs::canonical(from, failure), to, failure);
    if (failure) copy_file(from, to);
}

}  // namespace

std::string keep_earlier_files(const std::string& folder) {
    int number = 1;
    while (!is_free(folder, number)) ++number;
    std::string kept;
    for (const char* name : names) {
        const std::string path = folder + "/" + name, to = name_before(name, number);
        const bool is_weights = name == names.front();
        if (!has_content(path) || (is_weights && is_kept(folder, name, number))) continue;
        if (is_weights)
            give_second_name(path, folder + "/" + to);
        else
            train::rename_over(path, folder + "/" + to);
        kept += (kept.empty() ? "" : ", ") + std::string(name) + " as " + to;
    }
    if (!kept.empty()) sync_folder(folder);
    return kept;
}

}  // namespace lockstep::launcher
