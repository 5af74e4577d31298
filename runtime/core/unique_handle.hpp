// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace lockstep {

// Owns one handle of a C library. Traits defines `Raw`, `null()` and `destroy(Raw) noexcept`. If
// closing can fail and the failure matters, the owner closes explicitly and calls release().
template <class Traits>
class UniqueHandle {
public:
    using Raw = typename Traits::Raw;

    UniqueHandle() noexcept = default;
    explicit UniqueHandle(Raw raw) noexcept : raw_(raw) {}
    UniqueHandle(UniqueHandle&& other) noexcept : raw_(other.release()) {}
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        UniqueHandle moved(std::move(other));
        std::swap(raw_, moved.raw_);
        return *this;
    }
    ~UniqueHandle() {
        if (raw_ != Traits::null()) Traits::destroy(raw_);
    }

    Raw raw() const noexcept { return raw_; }
    Raw release() noexcept { return std::exchange(raw_, Traits::null()); }
    explicit operator bool() const noexcept { return raw_ != Traits::null(); }

private:
    Raw raw_ = Traits::null();
};

}  // namespace lockstep
