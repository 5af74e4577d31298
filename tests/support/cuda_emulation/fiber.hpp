// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::tests::cuda_emulation {

// A fiber is a thread of control with its own stack. A single operating-system thread resumes and
// suspends it.
class Fiber {
public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Makes the next resume() run entry(argument) from its beginning. entry must never return: it
    // suspends at its end. The stack's earlier contents are forgotten.
    void start(void (*entry)(void*), void* argument);
    // Runs the fiber until it suspends.
    void resume();
    // The fiber calls this: resume() then returns.
    void suspend();
    // The fiber calls this to suspend itself and run another, which resume() then waits for. It
    // takes one switch instead of two.
    void hand_over(Fiber& next);
    // Loads what the next switch to the fiber reads.
    void prefetch() const noexcept { __builtin_prefetch(inside_); }

private:
    std::byte* stack_;
    void* inside_ = nullptr;   // the fiber's stack pointer while it is suspended
    void* outside_ = nullptr;  // stack pointer of the resumer while the fiber runs
};

}  // namespace lockstep::tests::cuda_emulation
