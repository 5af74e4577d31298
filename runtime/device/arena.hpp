// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    static constexpr std::size_t smallest_chunk = std::size_t{4} << 20;

    std::byte* take_bytes(std::size_t bytes);
    std::size_t in_use() const noexcept;

    std::vector<Buffer<std::byte, Space>> chunks_;
    std::size_t chunk_ = 0, used_ = 0, peak_ = 0;
};

template <class Space>
std::byte* Arena<Space>::take_bytes(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size()) {
        ++chunk_;
        used_ = 0;
    }
    if (chunk_ == chunks_.size()) chunks_.emplace_back(std::max(bytes, smallest_chunk));
    std::byte* taken = chunks_[chunk_].view().data() + used_;
    used_ += bytes;
    peak_ = std::max(peak_, in_use());
    return taken;
}

template <class Space>
std::size_t Arena<Space>::in_use() const noexcept {
    std::size_t bytes = used_;
    for (std::size_t i = 0; i < chunk_; ++i) bytes += chunks_[i].size();
    return bytes;
}

template <class Space>
void Arena<Space>::reset() {
    if (chunks_.size() > 1) {
        std::size_t total = 0;
        for (const auto& chunk : chunks_) total += chunk.size();
        chunks_.clear();
        chunks_.emplace_back(total);
    }
    chunk_ = used_ = 0;
}

}  // namespace lockstep::device
