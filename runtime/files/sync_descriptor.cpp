// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/sync_descriptor.hpp"

#include <unistd.h>

#include <cerrno>

#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {
namespace {

// File systems answer so that know no fsync(), for folders or at all: FUSE, SMB, 9p and others. The
// descriptor is a good one, so EBADF says that one that only reads cannot be synced.
bool cannot_sync(int code) noexcept {
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EBADF;
}

}  // namespace

void sync_descriptor(int descriptor, const std::string& path) {
    while (::fsync(descriptor) != 0) {
        const int code = errno;
        if (cannot_sync(code)) return;
        if (code == EINTR) continue;
        throw SystemFailure(path + ": cannot be synced to disk: " + writing_failure_reason(code),
                            code);
    }
}

}  // namespace lockstep
