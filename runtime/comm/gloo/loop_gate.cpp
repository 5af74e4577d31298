// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/loop_gate.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

LoopGate::LoopGate(gloo::transport::tcp::Device& device)
    : device_(device), event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_) throw Error(ErrorKind::gloo, "the system gives no descriptor for an event");
    device.registerDescriptor(event_.raw(), EPOLLIN, this);
}

LoopGate::~LoopGate() { device_.unregisterDescriptor(event_.raw(), this); }

LoopGate::Pause::Pause(LoopGate& gate) : gate_(gate), turn_(gate.turn_) {
    std::unique_lock lock(gate_.mutex_);
    gate_.closed_ = true;
    ::eventfd_write(gate_.event_.raw(), 1);
    gate_.changed_.wait(lock, [&] { return gate_.stands_; });
}

LoopGate::Pause::~Pause() {
    const std::lock_guard lock(gate_.mutex_);
    gate_.closed_ = false;
    gate_.changed_.notify_all();
}

// The thread may miss a short opening between two pauses. It stands still then, as the second pause
// asks for, and finds the gate open when the second pause's event calls it once more.
void LoopGate::handleEvents(int /*events*/) {
    eventfd_t count = 0;
    ::eventfd_read(event_.raw(), &count);
    std::unique_lock lock(mutex_);
    if (!closed_) return;
    stands_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
    stands_ = false;
}

}  // namespace lockstep::comm
