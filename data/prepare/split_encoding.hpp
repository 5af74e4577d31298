// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "data/prepare/encoded_chunk.hpp"
#include "data/splits/divided_text.hpp"
#include "data/writing/split_writer.hpp"

namespace lockstep::data {

// Describes files, how they are divided into splits, and the settings to encode them.
struct SplitJob {
    std::vector<std::string> files;
    TextDivision division;
    ReadOptions read;
    std::uint64_t seed = 1;       // dialogues: chooses among several labels
    std::int64_t block_size = 0;  // text only
    int threads = 1;
    std::optional<jinja::Date> date = std::nullopt;  // that chat templates print
    TalkRows talk_rows = TalkRows::turns;            // of the training split
};

// Holds the writer of each split by its SplitPart; null if the files give no such split.
using SplitWriters = std::array<SplitWriter*, 3>;

// Reads and encodes the files and adds every row to the writer of its split, in the order of the
// text. The alternative labels of rows that are not for training are kept. Adds what is odd in the
// text to `warnings`.
void encode_splits(const SplitJob& job, const Tokenizer& tokenizer, const SplitWriters& writers,
                   Warnings& warnings, Log& log);

}  // namespace lockstep::data
