// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/compute_device.hpp"

namespace lockstep::launcher {

// Owns a trained model that can be evaluated and can reply.
class LoadedModel {
public:
    // Reads the folder's best weights. A run that has none yet provides those of its newest
    // checkpoint.
    LoadedModel(const std::string& folder, const ComputeDevice& device);

    const OpenedModel& description() const noexcept { return opened_; }
    const model::ModelConfig& config() const noexcept { return opened_.config; }
    const data::Tokenizer& tokenizer() const noexcept { return *opened_.tokenizer; }
    model::Model& model() noexcept { return *model_; }

private:
    OpenedModel opened_;
    std::unique_ptr<model::Model> model_;
};

}  // namespace lockstep::launcher
