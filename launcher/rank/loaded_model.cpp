// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/loaded_model.hpp"

#include "runtime/core/error.hpp"
#include "runtime/core/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

namespace {

std::string weights_of(const std::string& folder) {
    if (path_exists(folder + "/model.safetensors")) return folder;
    if (const auto checkpoint = train::newest_good_checkpoint(folder)) return *checkpoint;
    throw Error(ErrorKind::config,
                folder + ": holds no weights yet; train with -mf " + folder + " first");
}

}  // namespace

LoadedModel::LoadedModel(const std::string& folder, const ComputeDevice& device)
    : opened_(open_model_folder(folder)), model_(make_model(opened_.config, device)) {
    model_->load_weights(weights_of(folder));
}

}  // namespace lockstep::launcher
