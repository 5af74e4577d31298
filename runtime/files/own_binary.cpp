// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/own_binary.hpp"

#include <cerrno>
#include <filesystem>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

// Recognises the loader ("ld-linux-x86-64.so.2"), which is the executable if it was called with the
// program as its argument.
bool is_loader(const fs::path& file) { return file.filename().string().starts_with("ld-"); }

}  // namespace

std::string own_binary() {
    const fs::path file = fs::read_symlink("/proc/self/exe");
    return is_loader(file) ? fs::canonical(program_invocation_name) : file;
}

std::string own_binary_called(const char* name) {
    const fs::path file = fs::read_symlink("/proc/self/exe");
    return is_loader(file) ? name : file.string();
}

}  // namespace lockstep
