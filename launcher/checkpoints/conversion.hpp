// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/core/dtype.hpp"
#include "runtime/train/folder/folder_lock.hpp"

namespace lockstep::launcher::checkpoints {

enum class Existing { refuse, overwrite };
// What becomes of adapters. merge: they become part of their base, in its folder's form.
enum class Adapters { keep, merge };
// Whose form a new model's folder has.
enum class Form { lockstep, transformers };

// As large as transformers' files at most are.
inline constexpr std::uint64_t usual_shard_bytes = 50'000'000'000;

// Names what is converted. The name of `to` says into what, unless it is a folder of transformers:
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
    Form form = Form::lockstep;
    // Of transformers only: the type of the weights, without one that which they have, and the most
    // bytes of a file.
    std::optional<Dtype> type = {};
    std::uint64_t shard_bytes = usual_shard_bytes;
};

// Verifies `from` and writes `to`, whole or not at all; makes the folder that `to` is in. Returns a
// line that says what was written. What goes into a model's folder is written under the folder's
// lock, for which `waiting` is asked. Needs as much memory as the tensors take. Throws kind config
// for a request that cannot be done, kind data if `from` is damaged and SystemFailure if `to`
// cannot be written.
std::string convert(const Conversion& conversion, const train::LockWaiting& waiting);

}  // namespace lockstep::launcher::checkpoints
