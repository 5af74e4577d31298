// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/failure_reason.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockstep {
namespace {

bool is_refused_root(int code) noexcept {
    return (code == EACCES || code == EPERM) && ::geteuid() == 0;
}

// The advice about a refused root is longer, and says the same.
std::string remedy(int code) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
            return "; free some space there or choose another folder";
        case EACCES:
        case EPERM:
            return is_refused_root(code) ? "" : "; choose a folder that you may write to";
        case EROFS:
            return "; choose a folder that you may write to";
        case EFBIG:
            return "; raise the limit on file sizes (ulimit -f)";
        case EXDEV:
            return "; it is on another disk, or in a layer of a container's image: choose another "
                   "folder";
        case EBUSY:
            return "; something is mounted there, or a program holds it: choose another folder";
        case ENAMETOOLONG:
            return "; choose a shorter path";
        default:
            return "";
    }
}

}  // namespace

std::string failure_reason(int code) {
    std::string reason = std::generic_category().message(code);
    if (!is_refused_root(code)) return reason;
    return reason +
           " (root has no rights there: a file server may take them away, which is called root "
           "squash, and so may a container; run as the owner of the folder)";
}

std::string writing_failure_reason(int code) { return failure_reason(code) + remedy(code); }

}  // namespace lockstep
