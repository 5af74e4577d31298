// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/storage/existing.hpp"
#include "data/text/read_options.hpp"
#include "data/tokenizers/tokenizer_options.hpp"

namespace lockstep::data {

struct PrepareOptions {
    ReadOptions read;
    TokenizerOptions tokenizer;
    // Files of each split, any of which may have none. Without training files a dict_file is
    // needed.
    std::vector<std::string> inputs, valid, test;
    std::string out;
    int shards = 1;                  // files of the training split
    std::int64_t block_size = 1024;  // text only: tokens of a row
    Existing existing = Existing::refuse;
    int threads = 0;         // 0: every core
    std::uint64_t seed = 1;  // chooses the training label among alternatives
};

}  // namespace lockstep::data
