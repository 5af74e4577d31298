// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "runtime/core/view.hpp"

namespace lockstep::device {

enum class Content { zeroed, undefined };  // undefined: no page is touched before its first use

// Tells where memory that a device addresses lies. host: in pinned memory of the host, which a GPU
// reads and writes at the host's own address, slowly. It makes no difference to other devices.
enum class Residence { device, host };

// Returns the host's view of values whose residence is the host.
template <class T, class Space>
HostView<T> in_host(View<T, Space> values) noexcept {
    return {values.data(), values.size()};
}

// Owns memory of `Space`, 64-byte aligned. Move-only.
template <class T, class Space>
class Buffer;

template <class T>
class Buffer<T, HostSpace> {
public:
    Buffer() noexcept = default;
    explicit Buffer(std::size_t size, Content content = Content::zeroed,
                    Residence = Residence::device)
        : data_(static_cast<T*>(::operator new(size * sizeof(T), alignment))), size_(size) {
        if (content == Content::undefined) return;
        for (std::size_t i = 0; i < size; ++i) new (data_ + i) T{};
    }
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Buffer() { ::operator delete(data_, alignment); }

    std::size_t size() const noexcept { return size_; }
    View<T, HostSpace> view() const noexcept { return {data_, size_}; }

private:
    static constexpr std::align_val_t alignment{64};
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace lockstep::device
