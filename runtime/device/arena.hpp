// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::device {

// Memory that a step takes in order and gives back at once. The first step of a new largest size
// grows it by chunks; the next reset() replaces them by one, so later steps allocate nothing.
template <class Space>
class Arena {
public:
    struct Mark {
        std::size_t chunk, used;
    };

    // Uninitialised; 64-byte aligned; valid until reset() or a rewind() to an earlier mark.
    template <class T>
    View<T, Space> take(std::size_t count) {
        return {reinterpret_cast<T*>(take_bytes(count * sizeof(T))), count};
    }
    template <class T>
    MatrixView<T, Space> take_matrix(std::int64_t rows, std::int64_t cols) {
        return {take<T>(static_cast<std::size_t>(rows * cols)).data(), rows, cols};
    }

    Mark mark() const noexcept { return {chunk_, used_}; }
    void rewind(Mark mark) noexcept {
        chunk_ = mark.chunk;
        used_ = mark.used;
    }
    void reset();
    std::size_t peak_bytes() const noexcept { return peak_; }

private:
    std::byte* take_bytes(std::size_t bytes);
    std::size_t in_use() const noexcept;

    std::vector<Buffer<std::byte, Space>> chunks_;
    std::size_t chunk_ = 0, used_ = 0, peak_ = 0;
};

}  // namespace lockstep::device
