// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep {
namespace {

// Reading a folder fails with the system's own words.
void require_regular(const FileDescriptor& file, const std::string& path,
                     const std::string& complaint) {
    struct stat status {};
    if (::fstat(file.raw(), &status) != 0) throw_errno(complaint, path);
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return;
    throw Error(ErrorKind::io, path + ": " + complaint + ": not a regular file");
}

}  // namespace

std::string read_file(const std::string& path, const std::string& complaint) {
    std::string text;
    read_blocks(path, complaint, [&](std::string_view block) {
        if (text.size() + block.size() > largest_small_file_bytes)
            throw Error(ErrorKind::io, path + ": " + complaint + ": it is larger than " +
                                           std::to_string(largest_small_file_bytes >> 20) +
                                           " MiB; is it the right file?");
        text += block;
    });
    return text;
}

void read_blocks(const std::string& path, const std::string& complaint,
                 const std::function<void(std::string_view)>& action) {
    read_blocks_while(path, complaint, [&](std::string_view block) {
        action(block);
        return Reading::goes_on;
    });
}

Reading read_blocks_while(const std::string& path, const std::string& complaint,
                          const std::function<Reading(std::string_view)>& action) {
    // Without O_NONBLOCK opening a pipe would wait for its writer.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) throw_errno(complaint, path);
    require_regular(file, path, complaint);
    for (char block[1 << 16];;) {
        const ssize_t got = ::read(file.raw(), block, sizeof block);
        if (got == 0) return Reading::goes_on;
        if (got > 0) {
            const Reading reading = action({block, static_cast<std::size_t>(got)});
            if (reading == Reading::stopped) return reading;
        } else if (errno != EINTR) {
            throw_errno(complaint, path);
        }
    }
}

}  // namespace lockstep
