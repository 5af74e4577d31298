// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/memory_meter.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <string_view>

// The address sanitizer defines these functions; without it they are null.
extern "C" {
using MallocHook = void (*)(const volatile void*, std::size_t);
using FreeHook = void (*)(const volatile void*);
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(MallocHook, FreeHook);
__attribute__((weak)) std::size_t __sanitizer_get_allocated_size(const volatile void*);
__attribute__((weak)) int __lsan_do_recoverable_leak_check();
}

namespace lockstep::fuzz::memory_meter {
namespace {

struct Meter {
    std::ptrdiff_t max_bytes = std::numeric_limits<std::ptrdiff_t>::max();
    std::atomic<std::ptrdiff_t> bytes = 0, blocks = 0;
};

Meter& meter() {
    static constinit Meter only;
    return only;
}

void say(std::string_view text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

void add(const volatile void*, std::size_t bytes) {
    Meter& m = meter();
    ++m.blocks;
    const auto used = m.bytes += static_cast<std::ptrdiff_t>(bytes);
    if (used <= m.max_bytes) return;
    m.max_bytes = std::numeric_limits<std::ptrdiff_t>::max();  // abort() may allocate
    say("fuzz: the input takes more memory than it may\n");
    std::abort();
}

void subtract(const volatile void* block) {
    if (block == nullptr) return;
    Meter& m = meter();
    --m.blocks;
    m.bytes -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(block));
}

}  // namespace

void install(std::size_t max_bytes) {
    if (__sanitizer_install_malloc_and_free_hooks == nullptr) return;
    meter().max_bytes = static_cast<std::ptrdiff_t>(max_bytes);
    __sanitizer_install_malloc_and_free_hooks(add, subtract);
}

void start() { meter().bytes = meter().blocks = 0; }

bool unbalanced() { return meter().blocks != 0; }

void check_leaks() {
    if (__lsan_do_recoverable_leak_check == nullptr || __lsan_do_recoverable_leak_check() == 0)
        return;
    say("fuzz: the input loses memory\n");
    std::abort();
}

}  // namespace lockstep::fuzz::memory_meter
