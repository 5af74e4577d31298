// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::device {

class CudaContext;

// allocate_cuda() returns memory of the calling thread's current GPU, 256-byte aligned;
// allocate_pinned() returns pinned host memory. Both are zeroed. Allocating and freeing wait for
// the device, so no step does it.
void* allocate_cuda(std::size_t bytes);
void free_cuda(void* memory) noexcept;
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory) noexcept;

template <class T>
class Buffer<T, CudaSpace> {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() noexcept = default;
    explicit Buffer(std::size_t size, Content = Content::zeroed,
                    Residence residence = Residence::device)
        : data_(static_cast<T*>(residence == Residence::host ? allocate_pinned(size * sizeof(T))
                                                             : allocate_cuda(size * sizeof(T)))),
          size_(size),
          residence_(residence) {}
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          residence_(other.residence_) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(residence_, other.residence_);
        return *this;
    }
    ~Buffer() { residence_ == Residence::host ? free_pinned(data_) : free_cuda(data_); }

    std::size_t size() const noexcept { return size_; }
    CudaView<T> view() const noexcept { return {data_, size_}; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
    Residence residence_ = Residence::device;
};

// Owns pinned host memory: the GPU copies from and to it while the host continues. Move-only.
template <class T>
class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    PinnedBuffer() noexcept = default;
    explicit PinnedBuffer(std::size_t size)
        : data_(static_cast<T*>(allocate_pinned(size * sizeof(T)))), size_(size) {}
    PinnedBuffer(PinnedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~PinnedBuffer() { free_pinned(data_); }

    std::size_t size() const noexcept { return size_; }
    HostView<T> view() const noexcept { return {data_, size_}; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// Copies in order with the context's compute stream. Host memory, pinned or not, has certainly been
// read or written after ctx.synchronize(), and possibly before.
void copy_bytes(CudaContext& ctx, const void* from, void* to, std::size_t bytes);

template <class T, class From, class To>
void copy(CudaContext& ctx, View<const T, From> from, View<T, To> to) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(from.size() == to.size(), "copy: sizes differ");
    copy_bytes(ctx, from.data(), to.data(), from.size() * sizeof(T));
}

}  // namespace lockstep::device
