// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/tcp/device.h>

#include <condition_variable>
#include <mutex>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::comm {

// Stops the thread of a Gloo device for a moment, so that it cannot act on a connection that is
// just being made.
class LoopGate final : public gloo::transport::tcp::Handler {
public:
    // Throws kind gloo if the system gives no descriptor. The device must outlive the gate.
    explicit LoopGate(gloo::transport::tcp::Device& device);
    // Returns when the device's thread has left the gate. No pause may be going on.
    ~LoopGate() override;

    // The device's thread stands still as long as a pause lives.
    class Pause {
    public:
        explicit Pause(LoopGate& gate);
        ~Pause();
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

    private:
        LoopGate& gate_;
        std::lock_guard<std::mutex> turn_;
    };

    void handleEvents(int events) override;

private:
    gloo::transport::tcp::Device& device_;
    FileDescriptor event_;
    std::mutex turn_;   // held by the pause
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool closed_ = false, stands_ = false;
};

}  // namespace lockstep::comm
