// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/train/folder/folder_lock.hpp"

namespace lockstep::launcher::checkpoints {

enum class Existing { refuse, overwrite };
// What becomes of adapters. merge: they become part of their base, in its folder's form.
enum class Adapters { keep, merge };

// Names what is converted. The name of `to` says into what:
//   *.safetensors   the weights as one plain file
//   step-00001234   the checkpoint `from`, of any format version, as one of the current version
//   another name    a model's folder with these weights and no checkpoints
struct Conversion {
    std::string from;  // a checkpoint, a model's folder or a .safetensors file
    std::string to;
    // The model's folder that gives config.json and tokenizer; empty: the one that `from` is in.
    std::string like;
    Existing existing = Existing::refuse;
    Adapters adapters = Adapters::keep;
};

// Verifies `from` and writes `to`, whole or not at all; makes the folder that `to` is in. Returns a
// line that says what was written. What goes into a model's folder is written under the folder's
// lock, for which `waiting` is asked. Needs as much memory as the tensors take. Throws kind config
// for a request that cannot be done, kind data if `from` is damaged and SystemFailure if `to`
// cannot be written.
std::string convert(const Conversion& conversion, const train::LockWaiting& waiting);

}  // namespace lockstep::launcher::checkpoints
