// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/device/upload.hpp"

// Defines a device that computes nothing and stores nothing. It is used to run through a step and
// count the memory that the step needs.
namespace lockstep::device {

struct DrySpace {};

// Has a size and an aligned address, but no memory: reading or writing there is not allowed.
template <class T>
class Buffer<T, DrySpace> {
public:
    Buffer() noexcept = default;
    explicit Buffer(std::size_t size, Content = Content::zeroed) : size_(size) {}
    Buffer(Buffer&& other) noexcept : size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(size_, other.size_);
        return *this;
    }

    std::size_t size() const noexcept { return size_; }
    View<T, DrySpace> view() const noexcept { return {reinterpret_cast<T*>(address), size_}; }

private:
    static constexpr std::uintptr_t address = std::uintptr_t{1} << 40;
    std::size_t size_ = 0;
};

// Replaces a context that has the traits `Like`.
template <class Like>
class DryContext : public Like {
public:
    using Space = DrySpace;

    void synchronize() noexcept {}
    static DeviceTimestamp mark() noexcept { return {}; }
};

template <class Like, class T, class From, class To>
void copy(DryContext<Like>&, View<const T, From> from, View<T, To> to) {
    require(from.size() == to.size(), "copy: sizes differ");
}

template <class Like>
class Upload<DryContext<Like>> {
public:
    explicit Upload(DryContext<Like>&) {}

    void begin(std::size_t /*bytes*/) {}
    template <class T>
    View<const T, DrySpace> add(HostView<const T> values) {
        return add(values, values.size());
    }
    template <class T>
    View<const T, DrySpace> add(HostView<const T> /*values*/, std::size_t size) {
        return View<const T, DrySpace>(Buffer<T, DrySpace>(size).view());
    }
    void finish() {}
    std::int64_t moves() const noexcept { return 0; }
};

}  // namespace lockstep::device
