// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "runtime/device/cpu_context.hpp"
#include "runtime/device/host_side.hpp"
#include "runtime/device/memory_of.hpp"

namespace lockstep::device {

// Owns memory that begins with a page, so that files are read into it past the page cache. It is
// zero at first. Move-only.
template <class T>
class PageBuffer {
public:
    PageBuffer() noexcept = default;
    explicit PageBuffer(std::size_t size)
        : data_(static_cast<T*>(::operator new(size * sizeof(T), page))), size_(size) {
        for (std::size_t i = 0; i < size; ++i) new (data_ + i) T{};
    }
    PageBuffer(PageBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~PageBuffer() { ::operator delete(data_, page); }

    std::size_t size() const noexcept { return size_; }
    HostView<T> view() const noexcept { return {data_, size_}; }

private:
    static constexpr std::align_val_t page{4096};
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// The CPU is its own host.
template <>
class HostSide<CpuContext> final : public CpuContext {
public:
    explicit HostSide(const CpuContext& cpu) : CpuContext(cpu.threads()) {}
};

template <class T>
struct MemoryOf<T, HostSide<CpuContext>> {
    using Type = PageBuffer<T>;
};

}  // namespace lockstep::device
