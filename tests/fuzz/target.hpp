// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is a source with LLVMFuzzerTestOneInput(), which libFuzzer or
// engine/main.cpp calls with one input after the other. It may write files into the current folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lockstep::fuzz {

// Throws an exception that is no Error, so that the fuzzer fails, if `condition` does not hold.
void expect(bool condition, const std::string& what);

// Fails unless the error is one that a user can read: one short line without control characters,
// and no programming error of Lockstep.
void expect_readable(const Error& error);

// Runs what reads a stranger's bytes. It may end well or with an Error; any other exception leaves
// this function and is a failure.
template <class Action>
void expect_answer(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        expect_readable(error);
    }
}

// Replaces the contents of a file in the current folder.
void write_input(const char* name, std::span<const std::uint8_t> bytes);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace lockstep::fuzz
