// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::fuzz {

struct Settings {
    std::string program;
    int seconds = 0;         // processor time for mutated inputs; 0: only the given inputs are run
    std::uint64_t seed = 1;  // of the mutations
    std::size_t max_bytes = 4096;
    int input_seconds = 1;  // processor time that one input may take
    std::size_t input_memory_bytes = std::size_t{200} << 20;
    std::string words;                // file of words; empty: none
    std::string kept;                 // folder for inputs that passed new blocks; empty: none
    std::string failures;             // folder for inputs that failed
    std::vector<std::string> inputs;  // files
};

// Reads the words of a command line. Throws std::runtime_error that says what is wrong.
Settings settings_of(int argc, char** argv);

}  // namespace lockstep::fuzz
