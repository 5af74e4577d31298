// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/stored_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/frozen_base.hpp"
#include "model/lora_modules.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/folder/retry_reading.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/pieces/owned_files.hpp"
#include "runtime/train/pieces/shared_folder.hpp"

namespace lockstep::launcher {

namespace {

using Written = train::OwnedAccess::Written;

std::optional<train::RunRecord> load_on_rank_0(const std::optional<std::string>& checkpoint,
                                               train::Engine& engine) {
    if (!checkpoint) return std::nullopt;
    train::RunRecord record = train::retry_reading(
        [&] { return train::load_verified_checkpoint(*checkpoint, engine.fetch()); });
    engine.write_back();
    return record;
}

// Names the tensors of a file that are none of the model's.
std::string constants_text(const std::string& weights) {
    constexpr std::size_t most_named = 3;
    if (is_folder(weights)) return "";
    const auto names = train::retry_reading(
        [&] { return std::vector<std::string>(train::SafetensorsFile(weights).buffers()); });
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
        text += (i == 0 ? "; constants in its files are left out: " : ", ") + names[i];
    if (names.size() > most_named)
        text += " and " + std::to_string(names.size() - most_named) + " more";
    return text;
}

}  // namespace

std::optional<train::RunRecord> load_state(const std::optional<std::string>& checkpoint,
                                           train::Engine& engine, comm::Communicator& ranks) {
    train::OwnedAccess* const owned = engine.owned();
    if (owned == nullptr) return load_on_rank_0(checkpoint, engine);
    const bool in_pieces = checkpoint && train::has_pieces(*checkpoint);
    const std::string seen = train::seen_by_all(
        ranks, in_pieces ? *checkpoint + "/" + train::manifest_file : std::string());
    if (seen.empty()) return load_on_rank_0(checkpoint, engine);
    const std::string folder = seen.substr(0, seen.rfind('/'));
    const std::string conversion =
        train::retry_reading([&] { return train::load_owned(folder, owned->current()); });
    owned->write_back(Written::all);
    if (!checkpoint) return std::nullopt;
    train::RunRecord record = train::read_run_record(*checkpoint);
    record.conversion = conversion;
    return record;
}

void load_shared_weights(const std::string& path, model::Model& model, train::Engine& engine,
                         comm::Communicator& ranks) {
    train::OwnedAccess* const owned = engine.owned();
    const bool is_first = ranks.rank() == 0;
    const std::string seen =
        owned == nullptr ? ""
                         : train::seen_by_all(ranks, is_first ? train::verified_weights(path) : "");
    if (seen.empty()) {
        if (is_first) model.load_weights(path);
        return;
    }
    train::retry_reading([&] { train::load_owned_weights(seen, owned->current()); });
    owned->write_back(Written::weights);
}

namespace {

// Not so a checkpoint of a run, whose best weights are another model.
bool holds_base(const std::string& path) {
    const std::string folder = model_folder_of(path);
    if (folder.empty() || is_adapter_folder(folder)) return false;
    if (is_huggingface_folder(folder)) return true;
    return holds_model(path) && open_model_folder(folder).config.lora.rank == 0;
}

}  // namespace

std::string first_weights(const RunConfig& config, const model::ModelConfig& model,
                          const Warn& warn) {
    if (model.lora.rank > 0 && !config.lora.adapter.empty())
        return weights_of(config.lora.adapter, warn);
    const std::string& from = config.init_model;
    // New adapters: the folder has their base.
    if (model.lora.rank > 0 && holds_base(from)) return "";
    return holds_model(from) ? weights_of(from, warn) : from;
}

std::string first_adapters(const RunConfig& config, const model::ModelConfig& model, Log& log) {
    std::string path = first_weights(config, model, warn_on_standard_error);
    log.info("adapters are added to the model in " + printable(model.lora.base) +
             (path.empty() ? "" : "; they begin as those of " + printable(path)));
    if (model::unties(model) == model::Has::yes)
        log.info(
            "the table of embeddings and the head are one matrix in this base and two with these "
            "adapters, as in PEFT; --lora-ensure-weight-tying keeps them one");
    return path;
}

std::string first_weights_text(const std::string& init_model, const std::string& weights) {
    std::string text = "starting from the weights of " + init_model;
    if (model_folder_of(init_model).empty())
        text += "; no config.json says what they are: only their names and shapes were compared";
    return text + constants_text(weights);
}

void tell_default_rate(const RunConfig& config, Log& log) {
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    const bool adam = optimizer.kind == train::OptimizerKind::adam ||
                      optimizer.kind == train::OptimizerKind::adamw;
    if (adam && !config.given.contains("learningrate"))
        log.info(
            "--learningrate is 0.001, which suits a model that begins from nothing; one that has "
            "been trained usually goes on with 1e-5 to 1e-4, and its adapters with 1e-4 to 3e-4");
}

void tell_unread(const RunConfig& config, Log& log) {
    for (const auto& [option, path] : {std::pair{"--init-model ", &config.init_model},
                                       std::pair{"--lora ", &config.lora.adapter}})
        if (!path->empty())
            log.info(option + *path +
                     " is not read: the run continues with the weights of its checkpoint");
}

void load_first_weights(const std::string& path, const NewWeights& made, model::Model& model,
                        train::Engine& engine, comm::Communicator& ranks) {
    if (engine.owned() == nullptr) {
        if (ranks.rank() != 0) return;
        if (!path.empty()) return model.load_weights(path);
        model.initialize(made.seed);
    } else {
        if (!comm::broadcast_text(ranks, path).empty())
            return load_shared_weights(path, model, engine, ranks);
        model.initialize_owned(made.seed);
    }
    begin_tables(made.config, model, engine, ranks);
}

}  // namespace lockstep::launcher
