// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/own_binary.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

// Recognises the loader ("ld-linux-x86-64.so.2"), which is the executable if it was called with the
// program as its argument.
bool is_loader(const fs::path& file) { return file.filename().string().starts_with("ld-"); }

// Returns an empty path where /proc is not mounted.
fs::path executable() {
    std::error_code failure;
    return fs::read_symlink("/proc/self/exe", failure);
}

// Follows the name of the call as the shell did.
fs::path behind_name(const std::string& name) {
    if (name.find('/') != std::string::npos) return fs::canonical(name);
    const char* variable = std::getenv("PATH");
    std::istringstream folders(variable == nullptr ? "" : variable);
    std::error_code absent;
    for (std::string folder; std::getline(folders, folder, ':');)
        if (fs::path file = fs::canonical(fs::path(folder) / name, absent); !absent) return file;
    return name;
}

}  // namespace

std::string own_binary() {
    const fs::path file = executable();
    return file.empty() || is_loader(file) ? behind_name(program_invocation_name) : file;
}

std::string own_binary_called(const char* name) {
    const fs::path file = executable();
    return file.empty() || is_loader(file) ? name : file.string();
}

}  // namespace lockstep
