// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/compute_device.hpp"

namespace lockstep::launcher {

// Tells the user a line.
using Warn = std::function<void(const std::string& line)>;
void warn_on_standard_error(const std::string& line);

// Returns the file with the model's weights: the best ones, otherwise those of the newest
// checkpoint that is good. `warn` names damaged newer ones, in one line. Throws a config error if
// there are none.
std::string weights_of(const std::string& folder, const Warn& warn = warn_on_standard_error);

// Returns the file with the weights of the checkpoint that --checkpoint names; empty: as above.
// Throws as path_of_checkpoint() does if there is none, and a data error if it is damaged.
std::string weights_of(const std::string& folder, const std::string& checkpoint, const Warn& warn);

// Throws a config error if the file `weights` is too small for the model in the folder, or has
// tensors of other names or shapes.
void require_fitting(const model::ModelConfig& config, const std::string& folder,
                     const std::string& weights);

// Owns a trained model that can be evaluated and can reply.
class LoadedModel {
public:
    // Reads the weights that `checkpoint`, the value of --checkpoint, names. Empty: the folder's
    // best weights; a run that has none yet provides those of its newest checkpoint.
    LoadedModel(const std::string& folder, const std::string& checkpoint,
                const ComputeDevice& device, const Warn& warn = warn_on_standard_error);

    const OpenedModel& description() const noexcept { return opened_; }
    const model::ModelConfig& config() const noexcept { return opened_.config; }
    const data::Tokenizer& tokenizer() const noexcept { return *opened_.tokenizer; }
    model::Model& model() noexcept { return *model_; }

private:
    OpenedModel opened_;
    std::unique_ptr<model::Model> model_;
};

}  // namespace lockstep::launcher
