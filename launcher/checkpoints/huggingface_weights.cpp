// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/huggingface_weights.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

namespace fs = std::filesystem;

bool is_link(const std::string& path) {
    std::error_code none;
    return fs::is_symlink(path, none);
}

std::string lost_link(const std::string& path) {
    std::error_code none;
    return path + ": is a link to " + shown(fs::read_symlink(path, none).string()) +
           ", which does not exist; download the model again";
}

// Adds the file, or why it is not there.
void add_shard(const std::string& folder, const std::string& index, const std::string& name,
               const std::string& tensor, HuggingfaceWeights& weights) {
    const std::string path = folder + "/" + name;
    if (weights.files.contains(path)) {
        weights.files[path].insert(tensor);
        return;
    }
    // A name from elsewhere must not lead out of the folder.
    if (name.empty() || fs::path(name).filename() != name || name == "..")
        weights.findings.push_back(index + ": '" + shown(name) + "' is no file of this folder");
    else if (path_exists(path))
        weights.files[path].insert(tensor);
    else if (is_link(path))
        weights.findings.push_back(lost_link(path));
    else
        weights.findings.push_back(path + ": is missing, and " + index +
                                   " names it; download the model again");
}

void read_index(const std::string& folder, const std::string& index, HuggingfaceWeights& weights) {
    const nlohmann::json json = try_parse_json(read_json_text(index));
    const bool has_map = json.is_object() && json.contains("weight_map") &&
                         json["weight_map"].is_object() && !json["weight_map"].empty();
    if (!has_map) {
        weights.findings.push_back(index + ": has no \"weight_map\"; download it again");
        return;
    }
    std::map<std::string, std::set<std::string>> by_file;
    for (const auto& [tensor, file] : json["weight_map"].items()) {
        if (file.is_string())
            by_file[file.get<std::string>()].insert(tensor);
        else
            weights.findings.push_back(index + ": '" + shown(tensor) + "' has no file");
    }
    for (const auto& [file, tensors] : by_file)
        for (const std::string& tensor : tensors) {
            const std::size_t before = weights.findings.size();
            add_shard(folder, index, file, tensor, weights);
            if (weights.findings.size() > before) break;  // it is told once
        }
}

}  // namespace

HuggingfaceWeights huggingface_weights(const std::string& folder) {
    HuggingfaceWeights weights;
    const std::string file = folder + "/" + train::weights_file;
    const std::string index = file + ".index.json", pickle = folder + "/pytorch_model.bin";
    if (path_exists(file))
        weights.files[file];
    else if (is_link(file))
        weights.findings.push_back(lost_link(file));
    else if (path_exists(index))
        read_index(folder, index, weights);
    else if (is_link(index))
        weights.findings.push_back(lost_link(index));
    else if (path_exists(pickle) || path_exists(pickle + ".index.json"))
        weights.findings.push_back(pickle +
                                   ": is a pickle, which may run code and is not read; let "
                                   "transformers load and save the model, which writes " +
                                   train::weights_file);
    else
        weights.findings.push_back(folder + ": has no weights: neither " + train::weights_file +
                                   " nor " + train::weights_file +
                                   ".index.json; download the model again");
    return weights;
}

}  // namespace lockstep::launcher::checkpoints
