// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/arena.hpp"

#include <algorithm>

namespace lockstep::device {

namespace {
constexpr std::size_t smallest_chunk = std::size_t{4} << 20;
}

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

template class Arena<HostSpace>;

}  // namespace lockstep::device
