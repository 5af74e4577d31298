// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/weight_index.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::train {

namespace {

[[noreturn]] void refuse_index(const std::string& index, const std::string& what) {
    throw Error(ErrorKind::data, index + ": " + what + "; copy the model again");
}

// Returns the file of each tensor.
std::map<std::string, std::string> read_index(const std::string& index) {
    const nlohmann::json json = try_parse_json(read_json_text(index, "cannot be read"));
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (!json.is_object() || map == json.end() || !map->is_object() || map->empty())
        refuse_index(index, "names no tensors (\"weight_map\")");
    std::map<std::string, std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : "";
        if (name.empty() || name.find('/') != std::string::npos || name.starts_with("."))
            refuse_index(index, "names no file for tensor " + shown(tensor));
        files[tensor] = name;
    }
    return files;
}

}  // namespace

bool is_weight_index(std::string_view path) noexcept { return path.ends_with(".index.json"); }

std::vector<std::string> files_of_index(const std::string& index) {
    const std::filesystem::path folder = std::filesystem::path(index).parent_path();
    std::set<std::string> names;
    for (const auto& [tensor, file] : read_index(index)) names.insert(file);
    std::vector<std::string> paths;
    for (const std::string& name : names) {
        paths.push_back((folder / name).string());
        if (!path_exists(paths.back()))
            throw Error(ErrorKind::config, index + ": names " + shown(name) +
                                               ", which is missing; copy that file, too");
    }
    return paths;
}

void require_tensors_of_index(const std::string& index, const std::vector<TensorInfo>& tensors) {
    std::map<std::string, std::string> files = read_index(index);
    std::set<std::string_view> seen;
    for (const TensorInfo& tensor : tensors) {
        if (!seen.insert(tensor.name).second)
            refuse_index(index, "two of its files hold tensor " + shown(tensor.name));
        files.erase(tensor.name);
    }
    if (!files.empty())
        refuse_index(index, "tensor " + shown(files.begin()->first) + " is not in " +
                                shown(files.begin()->second));
}

}  // namespace lockstep::train
