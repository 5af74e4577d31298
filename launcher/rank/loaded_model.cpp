// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/loaded_model.hpp"

#include <iostream>

#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/named_checkpoint.hpp"
#include "launcher/model_folder/recorded_model.hpp"
#include "launcher/rank/frozen_base.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher {

void warn_on_standard_error(const std::string& line) { std::cerr << line + "\n" << std::flush; }

namespace {

std::string newest_weights(const std::string& folder, const Warn& warn) {
    const train::CheckpointChoice choice = train::choose_checkpoint(folder);
    if (!choice.path && is_huggingface_folder(folder))
        throw Error(ErrorKind::config,
                    folder + ": has neither " + train::weights_file + " nor " +
                        train::weight_index_file +
                        ", which are what is read of a model of transformers; let "
                        "save_pretrained write it");
    if (!choice.path)
        throw Error(ErrorKind::config,
                    folder + ": holds no weights yet; train with -mf " + folder + " first");
    const std::string damaged = train::damage_text(choice);
    if (!damaged.empty())
        warn("warning: damaged checkpoints are not used: " + damaged +
             "; the weights are those of " + *choice.path);
    return *choice.path + "/" + train::weights_file;
}

std::string weights_of_adapter(const std::string& folder) {
    std::string weights = folder + "/" + adapter_weights_file;
    if (path_exists(weights)) return weights;
    throw Error(ErrorKind::config, folder + ": has no " + adapter_weights_file +
                                       ", which is what is read of adapters; let PEFT's "
                                       "save_pretrained write it");
}

// Reads no file with the optimizer's tensors.
std::string verified_weights(const std::string& checkpoint) {
    train::retry_reading([&] {
        for (const train::ListedFile& file : train::read_manifest(checkpoint).files)
            if (file.name == train::weights_file || file.name == train::state_file)
                train::verify_file(checkpoint, file);
    });
    return checkpoint + "/" + train::weights_file;
}

}  // namespace

std::string weights_of(const std::string& folder, const Warn& warn) {
    std::string best = folder + "/" + train::weights_file;
    if (path_exists(best)) return best;
    if (is_adapter_folder(folder)) return weights_of_adapter(folder);
    std::string index = folder + "/" + train::weight_index_file;
    return path_exists(index) ? index : newest_weights(folder, warn);
}

std::string weights_of(const std::string& folder, const std::string& checkpoint, const Warn& warn) {
    if (checkpoint.empty()) return weights_of(folder, warn);
    std::string path = path_of_checkpoint(folder, checkpoint);
    if (checkpoint == best_checkpoint) return path;
    if (checkpoint == last_checkpoint) return newest_weights(folder, warn);
    return verified_weights(path);
}

namespace {

std::string description_of(const std::string& folder) {
    return is_adapter_folder(folder) ? folder + "/" + adapter_config_file
                                     : train::description_path(folder);
}

}  // namespace

void require_fitting(const model::ModelConfig& config, const std::string& folder,
                     const std::string& weights) {
    constexpr std::uintmax_t bytes_per_weight = 2;  // in BF16, the smallest type
    const std::uintmax_t bytes =
        train::retry_reading([&] { return train::SafetensorsFile(weights).bytes(); });
    const train::ParameterTable table = model::parameter_table(config);
    // A damaged config.json must not take the memory of weights that the file cannot hold.
    if (table.count() > bytes / bytes_per_weight)
        throw Error(ErrorKind::config, description_of(folder) + " describes " +
                                           std::to_string(table.count()) + " weights, but " +
                                           weights + " has only " + std::to_string(bytes) +
                                           " bytes; restore the file that is damaged");
    train::check_shapes(weights, table,
                        "it or " + description_of(folder) +
                            " is damaged or another model's; restore "
                            "them, or use another checkpoint");
}

LoadedModel::LoadedModel(const std::string& folder, const std::string& checkpoint,
                         const ComputeDevice& device, const Warn& warn)
    : opened_(open_model_folder(folder)) {
    const auto load = [&](const std::string& weights) {
        require_recorded_model(folder, weights);
        require_fitting(opened_.config, folder, weights);
        model_ = make_model(opened_.config, device, {}, {.gradients = train::Gradients::none});
        model_->load_weights(weights);
    };
    // A run that trains beside this program removes old checkpoints, maybe the one that is read.
    for (int attempts = 8;; --attempts) {
        const std::string weights = weights_of(folder, checkpoint, warn);
        try {
            load(weights);
            break;
        } catch (const Error&) {
            if (attempts == 1 || path_exists(weights)) throw;
        }
    }
    load_base(opened_.config, *model_);
}

}  // namespace lockstep::launcher
