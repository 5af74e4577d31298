// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/prepare/prepare_options.hpp"
#include "data/text/text_tokens.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

struct SplitReport {
    std::string name;
    std::uint64_t rows = 0, tokens = 0;
    TextTokens texts;
    std::uint64_t bytes_read = 0;
};

struct PrepareReport {
    std::vector<SplitReport> splits;
    std::int32_t dictionary_size = 0;
    double seconds = 0, megabytes_per_s = 0;  // input bytes divided by total time
};

// Sets the format to json_texts if it is one of plain text or JSON and all files begin with a
// document
// {"text": ...}. Throws a config error if only some do, or if one cannot be read.
void find_json_texts(PrepareOptions& options);

// Makes the data directory `options.out`, complete or not at all. An existing data set is replaced
// only with Existing::overwrite. Memory is bounded for inputs of any size. Throws a config error
// for a wrong request, and a data error that names file and line of bad input.
PrepareReport prepare(const PrepareOptions& options, Log& log);

}  // namespace lockstep::data
