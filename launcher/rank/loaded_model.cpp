// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/loaded_model.hpp"

#include <iostream>

#include "runtime/core/error.hpp"
#include "runtime/core/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

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
    : opened_(open_model_folder(folder)), model_(make_model(opened_.config, device)) {
    model_->load_weights(weights_of(folder, warn));
}

}  // namespace lockstep::launcher
