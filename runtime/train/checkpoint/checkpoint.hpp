// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/step/checkpoint_tensors_view.hpp"

namespace lockstep::train {

// What a checkpoint holds besides tensors.
struct RunRecord {
    TrainerState trainer;
    std::string options_json = "{}";  // an object of the caller's, handed back as it was
    Metadata versions;                // of what must not change for a bitwise resume, by name
};

// One checkpoint is a folder of model.safetensors, optimizer.safetensors, state.json and
// manifest.json with each file's size and XXH3; docs/checkpoints.md has the format.

// Writes `path` whole or not at all; a checkpoint of that name is replaced. The folder above
// exists.
void save_checkpoint(const std::string& path, const RunTensors& tensors, const RunRecord& record);

// Throws an io or data error that names the first file which is missing or not as it was written.
void verify_checkpoint(const std::string& path);

// Verifies, then fills `tensors` bit for bit as saved; they are untouched when this throws. Other
// names or shapes than the run's are a config error with the first one and what to do. A copy of
// the master for computing is the caller's to renew.
RunRecord load_checkpoint(const std::string& path, const RunTensors& tensors);

}  // namespace lockstep::train
