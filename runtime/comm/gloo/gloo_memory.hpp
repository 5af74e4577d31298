// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

// Stands for gloo/common/memory.h, which Debian's libgloo-dev lacks although its headers of the TCP
// transport include it. Only what those headers need is here, and its layout is that of Gloo's.
namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr final {
private:
    std::weak_ptr<T> ptr_;
};

}  // namespace gloo
