// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

// The address sanitizer's function; other builds do not have it.
extern "C" [[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin,
                                                            std::size_t bytes);

// Saves the caller's registers and stack pointer to *from and continues where `to` was saved. It is
// written in assembly because swapcontext makes a system call.
extern "C" void lockstep_emulation_switch(void** from, void* to);
// A fiber has this first return address. It calls r12(r13).
extern "C" void lockstep_emulation_entry();

asm(R"(
.text
.globl lockstep_emulation_switch
.type lockstep_emulation_switch, @function
lockstep_emulation_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size lockstep_emulation_switch, .-lockstep_emulation_switch
.globl lockstep_emulation_entry
.type lockstep_emulation_entry, @function
lockstep_emulation_entry:
    movq %r13, %rdi
    callq *%r12
    ud2
.size lockstep_emulation_entry, .-lockstep_emulation_entry
)");

namespace lockstep::tests::cuda_emulation {

namespace {
constexpr std::size_t stack_bytes = 256 << 10;  // only touched pages take memory

// Returns where a fiber's calls begin, below the end of its stack. Stacks lie a power of two apart,
// so that without this distance, which differs from stack to stack, their first calls would take
// turns in the same few lines of the processor's caches.
std::byte* first_call(std::byte* stack) {
    constexpr std::size_t distances = 61, lines_apart = 17, line_bytes = 64;
    const std::size_t number = reinterpret_cast<std::uintptr_t>(stack) / stack_bytes % distances;
    return stack + stack_bytes - number * lines_apart * line_bytes;
}

// The functions in which a fiber suspended for the last time never return, so that the sanitizer
// would forbid their places to whoever gets the memory next.
void forget(const std::byte* stack, const void* inside) {
    const auto* first = static_cast<const std::byte*>(inside);
    if (__asan_unpoison_memory_region != nullptr && first != nullptr)
        __asan_unpoison_memory_region(first, static_cast<std::size_t>(stack + stack_bytes - first));
}
}  // namespace

Fiber::Fiber() {
    void* memory = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() {
    forget(stack_, inside_);
    ::munmap(stack_, stack_bytes);
}

void Fiber::start(void (*entry)(void*), void* argument) {
    forget(stack_, inside_);
    // The switch pops r15, r14, r13, r12, rbx, rbp and the return address. The entry is called with
    // the stack aligned to 16 bytes.
    auto* top = reinterpret_cast<std::uintptr_t*>(first_call(stack_)) - 9;
    top[2] = reinterpret_cast<std::uintptr_t>(argument);
    top[3] = reinterpret_cast<std::uintptr_t>(entry);
    top[5] = 0;  // end of the stack for debuggers
    top[6] = reinterpret_cast<std::uintptr_t>(&lockstep_emulation_entry);
    inside_ = top;
}

void Fiber::resume() { lockstep_emulation_switch(&outside_, inside_); }
void Fiber::suspend() { lockstep_emulation_switch(&inside_, outside_); }
void Fiber::hand_over(Fiber& next) {
    next.outside_ = outside_;
    lockstep_emulation_switch(&inside_, next.inside_);
}

}  // namespace lockstep::tests::cuda_emulation
