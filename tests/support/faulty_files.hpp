// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tests/support/run_program.hpp"

namespace lockstep::tests {

inline std::string faulty_files_library() {
    const std::string programs = program_path("lockstep");
    return programs.substr(0, programs.rfind('/')) + "/libfaulty_files.so";
}

// Returns the environment of a program that writes a line "RANK PATH" into `log` for each opening
// of a path that contains `part`, "RANK synced PATH" for an fsync() and "RANK looked at PATH" for a
// stat(). A process that is no rank has the rank "-".
inline std::map<std::string, std::string> logged_files(const std::string& part,
                                                       const std::string& log) {
    return {{"LD_PRELOAD", faulty_files_library()},
            {"LOCKSTEP_FAULTY_PATH", part},
            {"LOCKSTEP_FAULTY_ERRNO", "0"},
            {"LOCKSTEP_FAULTY_TIMES", "0"},
            {"LOCKSTEP_FAULTY_LOG", log}};
}

// Returns the environment of a program in which pread() of a file whose path contains `part` fails
// with EIO.
inline std::map<std::string, std::string> faulty_reads(const std::string& part) {
    return {{"LD_PRELOAD", faulty_files_library()}, {"LOCKSTEP_FAULTY_READS", part}};
}

// Returns the environment of a program in which link() fails with the error number `code`.
inline std::map<std::string, std::string> faulty_links(int code) {
    return {{"LD_PRELOAD", faulty_files_library()},
            {"LOCKSTEP_FAULTY_LINKS", std::to_string(code)}};
}

// Returns the environment of a program in which calls fail, by a list such as "flock=37 fsync=22";
// faulty_files.cpp names the calls.
inline std::map<std::string, std::string> faulty_calls(const std::string& calls) {
    return {{"LD_PRELOAD", faulty_files_library()}, {"LOCKSTEP_FAULTY_CALLS", calls}};
}

// Returns the environment of a program in which opening a path that contains `part` fails with the
// error number `code`, the first `times` times.
inline std::map<std::string, std::string> faulty_files(const std::string& part, int code,
                                                       int times = 1'000'000) {
    return {{"LD_PRELOAD", faulty_files_library()},
            {"LOCKSTEP_FAULTY_PATH", part},
            {"LOCKSTEP_FAULTY_ERRNO", std::to_string(code)},
            {"LOCKSTEP_FAULTY_TIMES", std::to_string(times)}};
}

}  // namespace lockstep::tests
