// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/prepare/encoded_chunk.hpp"
#include "data/storage/split_writer.hpp"

namespace lockstep::data {

// One split's way from text to shards.
struct SplitJob {
    std::vector<std::string> files;
    EncodeSettings settings;
    std::int64_t block_size = 0;  // text only
    int threads = 1;
};

// Reads, encodes and adds every row to the writer, in the order of the text.
void encode_split(const SplitJob& job, const Tokenizer& tokenizer, SplitWriter& writer,
                  Warnings& warnings, Log& log);

}  // namespace lockstep::data
