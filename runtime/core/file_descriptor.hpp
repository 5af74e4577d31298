// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include "runtime/core/unique_handle.hpp"

namespace lockstep {

struct FileDescriptorTraits {
    using Raw = int;
    static constexpr Raw null() noexcept { return -1; }
    static void destroy(Raw raw) noexcept { ::close(raw); }
};
// Owns the descriptor of a file or a socket and closes it.
using FileDescriptor = UniqueHandle<FileDescriptorTraits>;

}  // namespace lockstep
