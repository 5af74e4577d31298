// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/dtype.hpp"
#include "runtime/train/checkpoint/file_layout.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::train {

// The weights of a file: the tensors of file_layout(), or some of them, whose values `read` gives.
struct FileWeights {
    std::span<const Parameter> parameters;
    std::span<const FileTensor> tensors;
    ReadValues read;
    Dtype type = Dtype::fp32;  // of the file: fp32, bf16 or fp16
};

// Returns checksum_of() the file of these weights.
std::string checksum_of(const FileWeights& weights);

struct WrittenWeights {
    WrittenFile file;
    std::uint64_t rounded = 0;  // how many values another type than fp32 has changed
};

// Writes the file atomically, with the memory of a few MiB or of the largest tensor that is turned.
// Throws kind config that names a tensor with a finite value that fp16 cannot hold.
WrittenWeights write_weights(const std::string& path, const FileWeights& weights, Metadata metadata,
                             const BeforeCommit& before_commit = {});

// Writes several files into a folder, none with more than `most_bytes` of tensors unless one tensor
// alone has more, and the index that names them. One file suffices: it is model.safetensors, and
// there is no index. Returns the number of files; their WrittenFile are not told.
struct WrittenShards {
    std::size_t files = 0;
    std::uint64_t bytes = 0, rounded = 0;
};
WrittenShards write_shards(const std::string& folder, const FileWeights& weights,
                           std::uint64_t most_bytes);

}  // namespace lockstep::train
