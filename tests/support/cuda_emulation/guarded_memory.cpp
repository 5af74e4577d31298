// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/guarded_memory.hpp"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>

// Only a build with AddressSanitizer has these functions.
#pragma weak __asan_poison_memory_region
#pragma weak __asan_unpoison_memory_region

namespace {

constexpr std::size_t guard_bytes = 256;  // also the alignment
constexpr unsigned char guard = 0xA5, undefined = 0xFF;

std::size_t rounded(std::size_t bytes) {
    return (bytes + guard_bytes - 1) / guard_bytes * guard_bytes;
}

bool is_guard(const unsigned char* from, const unsigned char* to) {
    return std::all_of(from, to, [](unsigned char byte) { return byte == guard; });
}

// Calls change(address, bytes) for both guards of a piece. The second one begins directly behind
// the piece.
template <class Function>
void for_both_guards(const unsigned char* piece, std::size_t bytes, const Function& change) {
    change(piece - guard_bytes, guard_bytes);
    change(piece + bytes, rounded(bytes) - bytes + guard_bytes);
}

void poison(const unsigned char* piece, std::size_t bytes) {
    if (__asan_poison_memory_region == nullptr) return;
    for_both_guards(piece, bytes, __asan_poison_memory_region);
}
void unpoison(const unsigned char* piece, std::size_t bytes) {
    if (__asan_unpoison_memory_region == nullptr) return;
    for_both_guards(piece, bytes, __asan_unpoison_memory_region);
}

}  // namespace

void* GuardedMemory::allocate(std::size_t bytes) {
    if (!take(bytes)) return nullptr;
    const std::size_t whole_bytes = rounded(bytes) + 2 * guard_bytes;
    auto* const whole = static_cast<unsigned char*>(std::aligned_alloc(guard_bytes, whole_bytes));
    if (whole == nullptr) {
        const std::lock_guard lock(mutex_);
        taken_bytes_ -= bytes;
        return nullptr;
    }
    unsigned char* const piece = whole + guard_bytes;
    std::memset(whole, guard, whole_bytes);
    std::memset(piece, undefined, bytes);
    if (guards_ == EmulatedGuards::poisoned) poison(piece, bytes);
    const std::lock_guard lock(mutex_);
    pieces_[piece] = bytes;
    return piece;
}

void GuardedMemory::free(void* memory) {
    auto* const piece = static_cast<unsigned char*>(memory);
    {
        const std::lock_guard lock(mutex_);
        const auto found = pieces_.find(piece);
        if (found == pieces_.end()) {
            std::fprintf(stderr, "%p is no %s memory that could be freed\n", memory, kind_);
            std::abort();
        }
        const std::size_t bytes = found->second;
        if (!is_whole(piece, bytes)) {
            std::fprintf(stderr, "something wrote beside %zu bytes of %s memory\n", bytes, kind_);
            std::abort();
        }
        unpoison(piece, bytes);
        taken_bytes_ -= bytes;
        pieces_.erase(found);
    }
    std::free(piece - guard_bytes);
}

bool GuardedMemory::take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (taken_bytes_ > limit_bytes_ || bytes > limit_bytes_ - taken_bytes_) return false;
    taken_bytes_ += bytes;
    return true;
}

void GuardedMemory::limit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = bytes;
}

std::size_t GuardedMemory::taken_bytes() {
    const std::lock_guard lock(mutex_);
    return taken_bytes_;
}

bool GuardedMemory::holds(const void* address) {
    const auto* const byte = static_cast<const unsigned char*>(address);
    const std::lock_guard lock(mutex_);
    const auto after = pieces_.upper_bound(byte);
    if (after == pieces_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return std::less_equal<>()(byte, begin + bytes);
}

bool GuardedMemory::guards_are_whole() {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(
        pieces_, [this](const auto& piece) { return is_whole(piece.first, piece.second); });
}

bool GuardedMemory::is_whole(const unsigned char* piece, std::size_t bytes) const {
    unpoison(piece, bytes);
    bool whole = true;
    for_both_guards(piece, bytes, [&](const unsigned char* from, std::size_t count) {
        whole = whole && is_guard(from, from + count);
    });
    if (guards_ == EmulatedGuards::poisoned) poison(piece, bytes);
    return whole;
}
