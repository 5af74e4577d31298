// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/core/log.hpp"

namespace lockstep::data {

struct SplitFileNames {
    const std::vector<std::string>&train, &valid, &test;
};

// Warns of each file of validation or test whose text is that of a training file, or the beginning
// of it, and of a test file that is so in a validation file: scores on known text mean nothing.
// Compressed files are compared by their text.
void warn_of_equal_files(const SplitFileNames& files, Log& log);

}  // namespace lockstep::data
