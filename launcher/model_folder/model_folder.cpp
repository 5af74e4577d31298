// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/model_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "data/tokenizers/dataset_tokenizer.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/free_rates.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/model_folder/named_checkpoint.hpp"
#include "model/architectures.hpp"
#include "model/config_json.hpp"
#include "model/huggingface_config.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

// The options set the value of this key in config.json.
struct Key {
    const char* key;
    std::vector<std::string> options;
};

std::vector<Key> fixed_keys() {
    return {
        {"model", {"model"}},
        {"variant", {"variant"}},
        {"activation", {"activation"}},
        {"positions", {"learn-positional-embeddings"}},
        {"embeddings_scale", {"embeddings-scale"}},
        {"embedding_size", {"embedding-size"}},
        {"ffn_size", {"ffn-size"}},
        {"n_heads", {"n-heads"}},
        {"n_encoder_layers", {"n-encoder-layers", "n-layers"}},
        {"n_decoder_layers", {"n-decoder-layers", "n-layers"}},
        {"n_positions", {"n-positions"}},
        {"n_kv_heads", {"n-kv-heads"}},
        {"rope_theta", {"rope-theta"}},
        {"norm_epsilon", {"norm-epsilon"}},
    };
}

const std::string* given_option(const Key& key, const std::set<std::string>& given) {
    for (const std::string& option : key.options) {
        if (given.contains(option)) return &option;
    }
    return nullptr;
}

std::string text_of(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : dump_json(value);
}

// Families have different keys.
nlohmann::json value_of(const nlohmann::json& config, const Key& key) {
    return config.value(key.key, nlohmann::json("none"));
}

void require_same(const ModelSource& source, const model::ModelConfig& stored,
                  const model::ModelConfig& wanted, const std::set<std::string>& given) {
    const nlohmann::json there = parse_json(model::to_json(stored));
    const nlohmann::json here = parse_json(model::to_json(wanted));
    for (const Key& key : fixed_keys()) {
        const std::string* option = given_option(key, given);
        if (option == nullptr || value_of(there, key) == value_of(here, key)) continue;
        // Without an encoder --n-layers speaks of the decoder's layers alone.
        if (!model::has_encoder(stored) && *option == "n-layers" && key.options.size() == 2 &&
            key.options.front() == "n-encoder-layers")
            continue;
        throw Error(ErrorKind::config, "--" + *option + " asks for " +
                                           text_of(value_of(here, key)) + ", but the model in " +
                                           source.folder + " has " + text_of(value_of(there, key)) +
                                           "; leave the option out, or give another " +
                                           source.option);
    }
}

// Returns an empty text if files can be made there.
std::string why_not_writable(const fs::path& folder) {
    if (access(folder.c_str(), W_OK | X_OK) == 0) return "";
    const std::string is = folder.string() + " is not writable";
    return errno == EACCES && ::geteuid() != 0 ? is : is + ": " + failure_reason(errno);
}

}  // namespace

fs::path nearest_existing(const std::string& folder) {
    fs::path path = fs::absolute(folder);
    while (!path_exists(path)) path = path.parent_path();
    return path;
}

void require_writable(const std::string& folder) {
    if (path_exists(folder + "/" + data::format::dataset_file) && !holds_model(folder))
        throw Error(ErrorKind::config, "-mf " + folder +
                                           ": is a prepared data set, not a model's folder; choose "
                                           "another folder");
    if (const std::string broken = broken_link(folder); !broken.empty())
        throw Error(ErrorKind::config,
                    "-mf " + folder + ": " + broken + "; make that folder, or choose another one");
    if (is_adapter_folder(folder))
        throw Error(ErrorKind::config, "-mf " + folder +
                                           ": holds adapters of PEFT, which no run changes; give "
                                           "--lora " +
                                           folder + " and a new -mf");
    if (is_huggingface_folder(folder))
        throw Error(ErrorKind::config, "-mf " + folder +
                                           ": is a model of transformers, which no run changes; "
                                           "give --init-model " +
                                           folder + " and a new -mf");
    const fs::path path = nearest_existing(folder);
    if (is_huggingface_folder(path.string()))
        throw Error(ErrorKind::config, "-mf " + folder + ": " + path.string() +
                                           " is a model of transformers, into which no run writes; "
                                           "choose another folder");
    if (!is_folder(path))
        throw Error(ErrorKind::config,
                    "-mf " + folder + ": " + path.string() + " is a file; choose another folder");
    const std::string other = "; choose another folder";
    if (const std::string why = why_not_writable(path); !why.empty())
        throw Error(ErrorKind::config, "-mf " + folder + ": " + why + other);
    const std::string checkpoints = train::checkpoints_of(folder);
    if (!path_exists(checkpoints) || !is_folder(checkpoints)) return;
    // The owner of the folder may be another user of the group. Without this look the run would
    // lose its work at its first save.
    if (const std::string why = why_not_writable(checkpoints); !why.empty())
        throw Error(ErrorKind::config, "-mf " + folder + ": " + why +
                                           "; ask its owner for chmod -R g+w, or choose another "
                                           "folder");
}

std::uintmax_t room_for(const std::string& folder) {
    std::error_code none;
    std::uintmax_t room = fs::space(nearest_existing(folder), none).available;
    if (none) {
        errno = none.value();
        throw_errno("its disk does not tell its free space", folder);
    }
    // Other processes may remove a folder meanwhile, and other users may forbid reading one.
    // Neither is a reason to fail.
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                             none);
         at != fs::recursive_directory_iterator(); at.increment(none)) {
        // A file with a second name keeps its bytes when it is replaced.
        const bool counts = at->is_regular_file(none) && at->hard_link_count(none) == 1;
        const std::uintmax_t bytes = counts ? at->file_size(none) : 0;
        if (!none) room += bytes;
    }
    return room;
}

void require_room(const std::string& folder, std::uintmax_t bytes) {
    const std::uintmax_t room = room_for(folder);
    if (room >= bytes) return;
    throw Error(ErrorKind::config, folder + ": this model's checkpoints take " +
                                       std::to_string((bytes >> 20) + 1) + " MiB, but there are " +
                                       std::to_string(room >> 20) +
                                       " MiB; free some space there or choose another -mf");
}

bool holds_model(const std::string& folder) {
    return !folder.empty() && (path_exists(folder + "/config.json") || is_adapter_folder(folder));
}

void require_same_dictionary(const OpenedModel& model, const std::string& folder,
                             const data::Dataset& dataset) {
    // Throws unless dataset.json agrees with it.
    const auto tokenizer = data::tokenizer_of(dataset);
    if (model.dictionary_hash == dataset.dictionary_hash() ||
        model.tokenizer->meaning() == tokenizer->meaning())
        return;
    throw Error(ErrorKind::config, folder + ": was trained with another dictionary than " +
                                       dataset.directory() + " has; prepare the data with --like " +
                                       folder);
}

namespace {

// Returns the stored model with those given options that change no weight.
model::ModelConfig agreed(const ModelSource& source, const model::ModelConfig& stored,
                          const model::ModelConfig& wanted, const std::set<std::string>& given) {
    require_same(source, stored, wanted, given);
    model::ModelConfig agreed = stored;
    for (const FreeRate& rate : free_rates)
        if (given.contains(rate.option)) agreed.*rate.value = wanted.*rate.value;
    model::validate(agreed);
    return agreed;
}

}  // namespace

ModelSource source_of(const std::string& model_file, const std::string& init_model) {
    if (!init_model.empty() && !path_exists(init_model))
        throw Error(ErrorKind::config,
                    "--init-model " + init_model + ": does not exist" + hub_hint(init_model));
    if (!init_model.empty()) refuse_broken_links(init_model);
    if (init_model.empty() || holds_model(model_file)) return {model_file};
    return {model_folder_of(init_model), "--init-model"};
}

model::ModelConfig agree_on_model(const ModelSource& source, model::ModelConfig wanted,
                                  const std::set<std::string>& given,
                                  const data::Dataset& dataset) {
    wanted.vocabulary = dataset.vocabulary();
    if (holds_model(source.folder)) {
        const OpenedModel opened = open_model_folder(source.folder);
        require_same_dictionary(opened, source.folder, dataset);
        return agreed(source, opened.config, wanted, given);
    }
    model::validate(wanted);
    return wanted;
}

model::ModelConfig agree_on_model(const ModelSource& source, const model::ModelConfig& wanted,
                                  const std::set<std::string>& given) {
    if (holds_model(source.folder))
        return agreed(source, open_model_folder(source.folder).config, wanted, given);
    model::validate(wanted);
    return wanted;
}

void create_model_folder(const std::string& folder, const train::ModelDescription& description,
                         const data::Dataset& dataset) {
    try {
        make_folders(folder);
    } catch (const SystemFailure& failure) {
        throw Error(ErrorKind::io, std::string(failure.what()) + "; choose another -mf");
    }
    // The description comes last and makes the folder a model, so the rest is on disk before it.
    // Other files in the folder may be another run's, which tries to lock it, and go at any time.
    for (const std::string& name : data::open_tokenizer(dataset.directory())->save(folder))
        sync_file(folder + "/" + name);
    train::save_description(folder, description);
}

std::string model_folder_of(const std::string& path) {
    std::error_code none;
    fs::path folder = fs::canonical(path, none);
    // A checkpoint's file is MODEL/checkpoints/step-N/model.safetensors.
    for (int above = 0; above <= 3 && !none && folder.has_filename(); ++above) {
        if (holds_model(folder)) return folder;
        folder = folder.parent_path();
    }
    return "";
}

void require_model(const std::string& folder) {
    if (const std::string broken = broken_link(folder); !broken.empty())
        throw Error(ErrorKind::config, folder + ": holds no model: " + broken);
    refuse_broken_links(folder);
    if (holds_model(folder)) return;
    if (const std::string instead = instead_of_checkpoint(folder); !instead.empty())
        throw Error(ErrorKind::config,
                    folder + ": is a checkpoint, and no model's folder; give " + instead);
    throw Error(ErrorKind::config, folder +
                                       ": holds no model (no config.json); train one with -mf " +
                                       folder + (path_exists(folder) ? "" : hub_hint(folder)));
}

namespace {

OpenedModel open_huggingface_folder(const std::string& folder) {
    const std::string path = folder + "/config.json";
    OpenedModel opened;
    opened.config = model::config_from_huggingface(read_json_text(path, "cannot be read"), path);
    opened.tokenizer = data::open_tokenizer(folder);
    opened.dictionary_hash = hex(opened.tokenizer->hash());
    return opened;
}

OpenedModel open_own_folder(const std::string& folder) {
    const train::ModelDescription description = train::read_description(folder);
    OpenedModel opened;
    opened.config =
        model::config_from_json(description.config_json, train::description_path(folder));
    opened.tokenizer = data::open_tokenizer(folder);
    opened.dictionary_hash = description.dictionary_hash;
    // Folders that are moved together keep a path that is seen from the adapters.
    std::string& base = opened.config.lora.base;
    if (!base.empty() && fs::path(base).is_relative())
        base = (fs::canonical(folder) / base).lexically_normal();
    return opened;
}

}  // namespace

OpenedModel open_model_folder(const std::string& folder) {
    require_model(folder);
    require_regular_files(folder);
    require_fetched_files(folder);
    if (is_adapter_folder(folder)) return open_adapter_folder(folder);
    OpenedModel opened =
        is_huggingface_folder(folder) ? open_huggingface_folder(folder) : open_own_folder(folder);
    if (!opened.tokenizer->fits_table(opened.config.vocabulary))
        throw Error(ErrorKind::config, train::description_path(folder) +
                                           ": \"vocabulary_size\" is " +
                                           std::to_string(opened.config.vocabulary) +
                                           ", but the dictionary there has " +
                                           std::to_string(opened.tokenizer->size()) +
                                           " entries; restore the file that is damaged");
    return opened;
}

}  // namespace lockstep::launcher
