// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/new_model.hpp"

#include <filesystem>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"
#include "launcher/checkpoints/adapter_files.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/recorded_model.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::checkpoints {

namespace fs = std::filesystem;

namespace {

// A folder with anything else, such as checkpoints or metrics, is worth more than what replaces it.
void require_replaceable(const std::string& to, const std::string& made, Existing existing) {
    if (!path_exists(to)) return;
    for (const auto& entry : fs::directory_iterator(to)) {
        const std::string name = entry.path().filename();
        if (existing == Existing::refuse)
            throw Error(ErrorKind::config, to + ": exists and is not empty; choose another name, "
                                                "or give --overwrite");
        if (!path_exists(made + "/" + name))
            throw Error(ErrorKind::config,
                        to + ": has " + name + ", which would be lost; choose another name");
    }
}

void fill(const std::string& folder, const std::string& weights, const std::string& like) {
    const OpenedModel model = open_model_folder(like);
    const train::ParameterTable table = model::parameter_table(model.config);
    std::vector<float> master(table.flat_size());
    const auto places = train::places_of(table, view_of(master));
    train::SafetensorsFile file(weights);
    train::check_places(file, places, "give --like a model of the same kind and sizes");
    if (const std::string other = contradiction(like, model.config, weights); !other.empty())
        throw Error(ErrorKind::config, other + "; give --like a model of the same kind");
    file.verify();
    train::read_places(file, places);
    model.tokenizer->save(folder);
    for (const auto& entry : fs::directory_iterator(folder)) sync_file(entry.path());
    train::ModelDescription description;
    if (is_huggingface_folder(like))
        description = {model::to_json(model.config), model.dictionary_hash, ""};
    else
        description = train::read_description(like);
    description.arithmetic_json = model::to_json(model.config);
    description.transformers = folder_form(model.config, like, model.tokenizer->special(), {like});
    train::save_model(folder, description, table, view_of(master));
    if (model.config.lora.rank > 0)
        write_adapters(folder, model.config, folder + "/" + train::weights_file);
}

}  // namespace

void make_parent(const std::string& path) {
    const fs::path parent = fs::absolute(path).parent_path();
    if (path_exists(parent) && !is_folder(parent))
        throw Error(ErrorKind::config,
                    path + ": " + parent.string() + " is a file; choose another name");
    make_folders(parent);
}

void write_model_folder(const std::string& weights, const std::string& like, const std::string& to,
                        Existing existing) {
    write_new_folder(to, existing, [&](const std::string& folder) { fill(folder, weights, like); });
}

void write_new_folder(const std::string& to, Existing existing,
                      const std::function<void(const std::string&)>& fill_folder) {
    if (path_exists(to) && !is_folder(to))
        throw Error(ErrorKind::config, to + ": is a file; choose another name");
    make_parent(to);
    const OutputClaim claim("", to);
    train::AtomicDirectory made(to);
    fill_folder(made.path());
    require_replaceable(to, made.path(), existing);
    made.commit();
}

}  // namespace lockstep::launcher::checkpoints
