// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/splits/held_out.hpp"
#include "data/text/read_options.hpp"
#include "data/tokenizers/tokenizer_options.hpp"
#include "data/writing/existing_folder.hpp"

namespace lockstep::data {

struct PrepareOptions {
    ReadOptions read;
    TokenizerOptions tokenizer;
    // Each split has its files. Any split may have none, but a run without training files needs a
    // dict_file.
    std::vector<std::string> inputs, valid, test;
    HeldOut held_out;  // a split that is taken from `inputs` has no files of its own
    std::string out;
    int shards = 1;                  // number of files of the training split
    std::int64_t block_size = 1024;  // text only: tokens per row
    Existing existing = Existing::refuse;
    int threads = 0;   // 0: all cores
    std::string date;  // "2024-07-26", the day that chat templates print; empty: none
    TalkRows talk_rows = TalkRows::conversations;  // of the training split, with a chat template
    std::uint64_t seed = 1;  // determines which of several alternative labels is trained
};

}  // namespace lockstep::data
