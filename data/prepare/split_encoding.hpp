// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/prepare/encoded_chunk.hpp"
#include "data/writing/split_writer.hpp"

namespace lockstep::data {

// Describes the files of a split and the settings to encode them.
struct SplitJob {
    std::vector<std::string> files;
    EncodeSettings settings;
    std::int64_t block_size = 0;  // text only
    int threads = 1;
};

// Reads and encodes the files and adds every row to the writer, in the order of the text.
void encode_split(const SplitJob& job, const Tokenizer& tokenizer, SplitWriter& writer,
                  Warnings& warnings, Log& log);

}  // namespace lockstep::data
