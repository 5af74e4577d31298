// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_memory.hpp"

#include <cerrno>
#include <cstddef>

namespace lockstep::tests {
namespace {

struct Plan {
    long first = -1;  // none fails
    Lack lack = Lack::once;
    long calls = 0, failed = 0;
};

Plan& plan() {
    static Plan only;  // the C library's functions have no other way to it
    return only;
}

constexpr std::size_t small_bytes = 512;  // pieces of freed memory are found for less

bool fails(std::size_t bytes) {
    Plan& now = plan();
    const long call = now.calls++;
    if (now.first < 0 || call < now.first) return false;
    if (call > now.first && (now.lack == Lack::once || bytes < small_bytes)) return false;
    ++now.failed;
    errno = ENOMEM;
    return true;
}

}  // namespace

void let_allocations_fail(long first, Lack lack) { plan() = {first, lack, 0, 0}; }

long failed_allocations() { return plan().failed; }

}  // namespace lockstep::tests

// The linker's option --wrap leads the archives' calls to these, and those of the C++ library,
// which is shared, to the C library as always.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* block, std::size_t bytes);

void* __wrap_malloc(std::size_t bytes) {
    return lockstep::tests::fails(bytes) ? nullptr : __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
    return lockstep::tests::fails(count * bytes) ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_realloc(void* block, std::size_t bytes) {
    return lockstep::tests::fails(bytes) ? nullptr : __real_realloc(block, bytes);
}
}
