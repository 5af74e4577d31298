// SPDX-License-Identifier: Apache-2.0
#include "launcher/loaded_model.hpp"

#include <filesystem>

#include "model/transformer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/checkpoint_tensors.hpp"
#include "runtime/train/parameter_sync.hpp"

namespace lockstep::launcher {

namespace {

std::string weights_of(const std::string& folder) {
    if (std::filesystem::exists(folder + "/model.safetensors")) return folder;
    if (const auto checkpoint = train::newest_good_checkpoint(folder)) return *checkpoint;
    throw Error(ErrorKind::config,
                folder + ": holds no weights yet; train with -mf " + folder + " first");
}

}  // namespace

LoadedModel::LoadedModel(const std::string& folder, train::Precision precision, int threads)
    : opened_(open_model_folder(folder)),
      context_(threads),
      table_(model::parameter_table(opened_.config)),
      store_(table_, precision),
      model_(model::make_model(opened_.config, store_, context_)),
      decoder_(model::make_decoder(opened_.config, store_, context_)) {
    train::load_weights(weights_of(folder), table_, store_.master());
    train::write_compute_copy(context_, store_);
}

}  // namespace lockstep::launcher
