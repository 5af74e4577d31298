// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/loaded_model.hpp"

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "launcher/model_folder/recorded_model.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {
namespace {

// Returns the path. A damaged config.json must not take the memory of weights that the file cannot
// hold.
std::string with_room_for(const model::ModelConfig& config, const std::string& folder,
                          std::string weights) {
    constexpr std::uintmax_t bytes_per_weight = 2;  // in BF16, the smallest type
    std::error_code unknown;
    const std::uintmax_t bytes = std::filesystem::file_size(weights, unknown);
    const std::uintmax_t count = model::parameter_table(config).count();
    if (unknown || count <= bytes / bytes_per_weight) return weights;
    throw Error(ErrorKind::config, folder + "/config.json describes " + std::to_string(count) +
                                       " weights, but " + weights + " has only " +
                                       std::to_string(bytes) +
                                       " bytes; restore the file that is damaged");
}

}  // namespace

void warn_on_standard_error(const std::string& line) { std::cerr << line + "\n" << std::flush; }

std::string weights_of(const std::string& folder, const Warn& warn) {
    const std::string best = folder + "/model.safetensors";
    if (path_exists(best)) return best;
    const train::CheckpointChoice choice = train::choose_checkpoint(folder);
    if (!choice.path)
        throw Error(ErrorKind::config,
                    folder + ": holds no weights yet; train with -mf " + folder + " first");
    const std::string damaged = train::damage_text(choice);
    if (!damaged.empty())
        warn("warning: damaged checkpoints are not used: " + damaged +
             "; the weights are those of " + *choice.path);
    return *choice.path + "/model.safetensors";
}

LoadedModel::LoadedModel(const std::string& folder, const ComputeDevice& device, const Warn& warn)
    : opened_(open_model_folder(folder)) {
    std::string weights = weights_of(folder, warn);
    require_recorded_model(folder, weights);
    weights = with_room_for(opened_.config, folder, std::move(weights));
    model_ = make_model(opened_.config, device);
    model_->load_weights(weights);
}

}  // namespace lockstep::launcher
