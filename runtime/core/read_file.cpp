// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/read_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep {

std::string read_file(const std::string& path, const std::string& complaint) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw_errno(complaint, path);
    std::string text;
    for (char block[1 << 14];;) {
        const ssize_t got = ::read(file.raw(), block, sizeof block);
        if (got == 0) return text;
        if (got > 0) {
            text.append(block, static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            throw_errno(complaint, path);
        }
    }
}

}  // namespace lockstep
