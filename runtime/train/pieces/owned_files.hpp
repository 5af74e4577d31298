// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/sharing/run_tensors.hpp"

namespace lockstep::train {

// Names one of the ranks that write a checkpoint together.
struct Writer {
    int rank = 0, writers = 1;
};

// Returns the name of the file in which a rank hands its part of the weights to rank 0:
// "weights-00007.safetensors". No finished checkpoint holds it.
std::string weights_part_name(int rank);

// Throws a data error if a value is not finite.
void require_savable(const std::vector<RunPiece>& pieces);

// Write what this rank owns into a folder, and return the files by name. Throw SystemFailure.
std::map<std::string, WrittenFile> write_owned_weights(const std::string& folder,
                                                       const Writer& writer,
                                                       const RunPieces& pieces);
std::map<std::string, WrittenFile> write_owned_optimizer(const std::string& folder,
                                                         const Writer& writer,
                                                         const RunPieces& pieces);

// Fills the pieces from a checkpoint that was verified. Throws as load_checkpoint() does. Returns
// RunRecord::conversion.
std::string load_owned(const std::string& checkpoint, const RunPieces& pieces);
// Tells whether load_owned() can read its format.
bool has_pieces(const std::string& checkpoint);
// Fills the pieces of the weights from model.safetensors of a model folder or from such a file.
// Throws as load_weights() does.
void load_owned_weights(const std::string& path, const RunPieces& pieces);

}  // namespace lockstep::train
