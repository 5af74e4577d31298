// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Returns the name of the newest checkpoint of a model folder ("step-00001234"), or "" if none is
// seen. It is not verified. Two names that differ show that a run has saved between two looks.
std::string newest_checkpoint_name(const std::string& model_folder);

// Returns "the last checkpoint is MODEL/checkpoints/step-00001234" or "there is no checkpoint".
std::string last_checkpoint_text(const std::string& model_folder);

}  // namespace lockstep::launcher
