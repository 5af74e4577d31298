// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

// Says who may look at guards. checked: they are read when a piece is freed. poisoned: also
// AddressSanitizer, in a build with it, which ends the program at the first access to a guard.
enum class EmulatedGuards { checked, poisoned };

// Gives out one kind of the emulated device's memory, to any thread. Each piece lies between guards
// and is initially NaN.
class GuardedMemory {
public:
    // `kind` names the memory in messages.
    GuardedMemory(const char* kind, std::size_t limit_bytes, EmulatedGuards guards)
        : kind_(kind), guards_(guards), limit_bytes_(limit_bytes) {}

    // Returns a piece, 256-byte aligned; null if it would exceed the limit.
    void* allocate(std::size_t bytes);
    // Ends the program if `piece` is no piece of this kind or something was written beside it.
    void free(void* piece);

    // The limit is of all pieces together. Pieces beyond a new limit stay.
    void limit(std::size_t bytes);
    std::size_t taken_bytes();
    // Returns true if the address lies in a piece or directly behind one.
    bool holds(const void* address);
    // Returns true if nothing was written beside any piece.
    bool guards_are_whole();

private:
    bool take(std::size_t bytes);
    bool is_whole(const unsigned char* piece, std::size_t bytes) const;

    const char* const kind_;
    const EmulatedGuards guards_;
    std::mutex mutex_;  // protects what follows
    std::size_t limit_bytes_, taken_bytes_ = 0;
    std::map<const unsigned char*, std::size_t> pieces_;  // with their bytes
};
