// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/core/trace.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/device/readback.hpp"
#include "runtime/device/replay.hpp"
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
    explicit Buffer(std::size_t size, Content = Content::zeroed, Residence = Residence::device)
        : size_(size) {}
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

    double multiply_adds = 0;  // of the linear layers' products so far

    void synchronize() noexcept {}
    static DeviceTimestamp mark() noexcept { return {}; }
    static Clock::time_point time_of(DeviceTimestamp) noexcept { return {}; }
};

template <class Like, class T, class From, class To>
void copy(DryContext<Like>&, View<const T, From> from, View<T, To> to) {
    require(from.size() == to.size(), "copy: sizes differ");
}

template <class Like>
class Upload<DryContext<Like>> {
public:
    explicit Upload(DryContext<Like>&) {}

    void begin(std::size_t bytes) { capacity_ = std::max(capacity_, upload_capacity(bytes)); }
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
    // Returns what a GPU holds after as many groups as it has slots.
    std::size_t bytes() const noexcept { return uploads_held * capacity_; }

private:
    std::size_t capacity_ = 0;
};

// What is read back has its initial value.
template <class T, class Like>
class Readback<T, DryContext<Like>> {
public:
    explicit Readback(DryContext<Like>&) {}

    void send(const T*) noexcept {}
    T take() const { return {}; }
};

template <class Like>
class Replay<DryContext<Like>> {
public:
    explicit Replay(DryContext<Like>&) {}

    template <class Work>
    Queued run(const WorkKey&, std::int64_t /*moves*/, const Work& work) {
        work();
        return Queued::call_by_call;
    }
    template <class Action>
    void apart(const Action& action) {
        action();
    }
};

}  // namespace lockstep::device
