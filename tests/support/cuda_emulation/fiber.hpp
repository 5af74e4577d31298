// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::tests::cuda_emulation {

// A thread of control with its own stack, resumed and suspended by its one operating-system thread.
class Fiber {
public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // The next resume() runs entry(argument) from its beginning; entry must never return, but
    // suspend for ever. What a former run left on the stack is forgotten.
    void start(void (*entry)(void*), void* argument);
    // Until the fiber suspends.
    void resume();
    // Called by the fiber: resume() returns.
    void suspend();

private:
    std::byte* stack_;
    void* inside_ = nullptr;   // the fiber's stack pointer while it is suspended
    void* outside_ = nullptr;  // the resumer's while it runs
};

}  // namespace lockstep::tests::cuda_emulation
