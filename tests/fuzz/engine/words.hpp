// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/engine/bytes.hpp"

namespace lockstep::fuzz {

// Reads the words of a format from a file in the form of libFuzzer and AFL: a line is empty, a
// comment (`# ...`), "word" or name="word"; \\, \" and \xNN stand for bytes. Throws
// std::runtime_error that names the line.
std::vector<Bytes> read_words(const std::string& path);

}  // namespace lockstep::fuzz
