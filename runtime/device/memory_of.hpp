// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/buffer.hpp"

namespace lockstep::device {

// Names the buffer in which a context's kernels keep values; its views are those of the context's
// space.
template <class T, class Ctx>
struct MemoryOf {
    using Type = Buffer<T, typename Ctx::Space>;
};
template <class T, class Ctx>
using Memory = typename MemoryOf<T, Ctx>::Type;

}  // namespace lockstep::device
