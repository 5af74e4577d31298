// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/system_failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace lockstep {

bool disk_is_full(int code) noexcept { return code == ENOSPC || code == EDQUOT; }

bool is_transient(int code) noexcept {
    constexpr std::array codes = {EIO, ESTALE, EMFILE, ENFILE, EAGAIN, EINTR, ETIMEDOUT};
    return std::ranges::find(codes, code) != codes.end();
}

}  // namespace lockstep
