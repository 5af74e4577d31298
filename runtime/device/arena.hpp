// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::device {

// Gives out the memory of a step in order and takes all of it back at once. If a step needs more
// than was reserved or used before, the arena grows by chunks. The next reset() replaces the chunks
// by one of exactly that size, so later steps allocate nothing. The arena owns this memory; it may
// also borrow memory, of which it uses what it can. Not safe from several threads.
//
//  Arena<HostSpace> arena;
//  arena.reserve(estimated_bytes);
//  const auto hidden = arena.take_matrix<float>(tokens, width);  // valid until reset()
//  const auto mark = arena.mark();
//  const auto scratch = arena.take<float>(tokens);
//  arena.rewind(mark);  // gives scratch back, keeps hidden
//  arena.reset();       // at the start of the next step
template <class Space>
class Arena {
public:
    struct Mark {
        std::size_t chunk, used, borrowed_free;
    };

    // Returns uninitialised memory, 64-byte aligned. It is valid until reset() or a rewind() to an
    // earlier mark.
    template <class T>
    View<T, Space> take(std::size_t count) {
        return {reinterpret_cast<T*>(take_bytes(count * sizeof(T))), count};
    }
    template <class T>
    MatrixView<T, Space> take_matrix(std::int64_t rows, std::int64_t cols) {
        return {take<T>(static_cast<std::size_t>(rows * cols)).data(), rows, cols};
    }

    // Allocates room for a step of that many bytes. Call it before the first take().
    void reserve(std::size_t bytes);

    // Uses memory of others, from its end to its front, until the next borrow() or reset(); an
    // empty view only ends this. The memory must stay valid until then, and nothing that was taken
    // from it is valid afterwards. Throws Error unless address and size are multiples of 64.
    void borrow(View<std::byte, Space> memory);
    // From now on take() does not use the first `bytes` of the borrowed memory. After borrow() it
    // uses none of it until this is called. rewind() does not change it.
    void keep_out_of(std::size_t bytes) noexcept { kept_out_ = bytes; }

    Mark mark() const noexcept;
    // A mark is for the borrow() under which it was made: after rewind() to an older one none of
    // the memory that is borrowed now is used.
    void rewind(Mark mark) noexcept;
    void reset();
    // Returns the most bytes of its own that were in use.
    std::size_t peak_bytes() const noexcept { return peak_; }
    // Returns the number of times that reset() has replaced the memory, so that its addresses
    // changed.
    std::int64_t moves() const noexcept { return moves_; }

private:
    // Chunks have at least this size. A chunk as small as one matrix could not hold a larger one
    // after a rewind().
    static constexpr std::size_t smallest_chunk = std::size_t{64} << 20;

    using Memory = Buffer<std::byte, Space>;
    struct Chunk {
        Memory memory;
        std::size_t used = 0;
    };

    std::byte* take_bytes(std::size_t bytes);
    std::byte* take_own(std::size_t bytes);
    std::size_t in_use() const noexcept;

    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0, peak_ = 0;  // chunks before chunk_ are full, later ones are free
    std::int64_t moves_ = 0;
    View<std::byte, Space> borrowed_;
    // Bytes at the front of what was borrowed: those that were not taken, and those that take()
    // must not use.
    std::size_t free_ = 0, kept_out_ = 0;
};

template <class Space>
void Arena<Space>::reserve(std::size_t bytes) {
    require(chunks_.empty(), "an arena is reserved before it is used");
    if (bytes > 0) chunks_.push_back({Memory(bytes, Content::undefined)});
}

template <class Space>
std::byte* Arena<Space>::take_bytes(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    if (kept_out_ >= free_ || free_ - kept_out_ < bytes) return take_own(bytes);
    free_ -= bytes;
    return borrowed_.data() + free_;
}

template <class Space>
std::byte* Arena<Space>::take_own(std::size_t bytes) {
    while (chunk_ < chunks_.size() &&
           chunks_[chunk_].used + bytes > chunks_[chunk_].memory.size()) {
        ++chunk_;
        if (chunk_ < chunks_.size()) chunks_[chunk_].used = 0;
    }
    if (chunk_ == chunks_.size())
        chunks_.push_back({Memory(std::max(bytes, smallest_chunk), Content::undefined)});
    Chunk& chunk = chunks_[chunk_];
    std::byte* taken = chunk.memory.view().data() + chunk.used;
    chunk.used += bytes;
    peak_ = std::max(peak_, in_use());
    return taken;
}

template <class Space>
void Arena<Space>::borrow(View<std::byte, Space> memory) {
    require(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0 && memory.size() % 64 == 0,
            "an arena borrows aligned memory");
    borrowed_ = memory;
    free_ = kept_out_ = memory.size();
}

template <class Space>
std::size_t Arena<Space>::in_use() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= chunk_ && i < chunks_.size(); ++i) bytes += chunks_[i].used;
    return bytes;
}

template <class Space>
auto Arena<Space>::mark() const noexcept -> Mark {
    return {chunk_, chunk_ < chunks_.size() ? chunks_[chunk_].used : 0, free_};
}

template <class Space>
void Arena<Space>::rewind(Mark mark) noexcept {
    chunk_ = mark.chunk;
    if (chunk_ < chunks_.size()) chunks_[chunk_].used = mark.used;
    free_ = std::min(mark.borrowed_free, borrowed_.size());
}

template <class Space>
void Arena<Space>::reset() {
    if (chunks_.size() > 1) {
        chunks_.clear();
        chunks_.push_back({Memory(peak_, Content::undefined)});
        ++moves_;
    }
    borrow({});
    rewind({});
}

}  // namespace lockstep::device
