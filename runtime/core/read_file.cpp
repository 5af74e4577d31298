// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/read_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep {

std::string read_file(const std::string& path, const std::string& complaint) {
    std::string text;
    read_blocks(path, complaint, [&text](std::string_view block) { text += block; });
    return text;
}

void read_blocks(const std::string& path, const std::string& complaint,
                 const std::function<void(std::string_view)>& action) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw_errno(complaint, path);
    for (char block[1 << 16];;) {
        const ssize_t got = ::read(file.raw(), block, sizeof block);
        if (got == 0) return;
        if (got > 0) {
            action({block, static_cast<std::size_t>(got)});
        } else if (errno != EINTR) {
            throw_errno(complaint, path);
        }
    }
}

}  // namespace lockstep
