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
// A file's or a socket's.
using FileDescriptor = UniqueHandle<FileDescriptorTraits>;

}  // namespace lockstep
