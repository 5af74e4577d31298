// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/tcp/device.h>

#include <memory>
#include <string>

#include "runtime/comm/gloo/loop_gate.hpp"
#include "runtime/comm/net/socket.hpp"

namespace lockstep::comm {

// Connects ranks as peer_greeting.hpp says. Gloo's own device takes whoever connects first for the
// peer, and ends the process if that one leaves at once.
class ProvenDevice final : public gloo::transport::tcp::Device {
public:
    // `key` is known to the ranks of the job only.
    ProvenDevice(const gloo::transport::tcp::attr& attributes, std::string key);

    std::shared_ptr<gloo::transport::Context> createContext(int rank, int size) override;

    SocketAddress address() const;  // with port 0
    const std::string& key() const noexcept { return key_; }
    LoopGate& gate() noexcept { return gate_; }

private:
    const std::string key_;
    LoopGate gate_;
};

}  // namespace lockstep::comm
