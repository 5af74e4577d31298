// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/store/frame_seal.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::comm {

// Finds the secret in a store's credential; empty if the credential is for somebody else.
using Unseal = std::function<std::optional<Secret>(const std::string& credential)>;

// Shows that a rank belongs to the job. If `unseal` is given, the secret comes from the store's
// credential.
struct Admission {
    Secret secret;
    Unseal unseal;
};

// Connects to one port and greets whoever listens there. Its owner waits until the socket is ready
// for `events()` and then calls `advance()`, which does not wait, except in `Admission::unseal`.
class JoinAttempt {
public:
    // An outcome further down says more about why the store is not found. `prevented`: this process
    // could not open a socket.
    enum class Outcome { nobody, no_store, prevented, refused, joined };

    // Starts to connect. `address` includes the port; `admission` must outlive the attempt.
    JoinAttempt(const SocketAddress& address, const Admission& admission);

    // Returns an empty result while the attempt goes on.
    std::optional<Outcome> outcome() const noexcept { return outcome_; }
    const std::string& why() const noexcept { return why_; }
    // Returns the errno of a connection that failed.
    int failure() const noexcept { return failure_; }
    const SocketAddress& address() const noexcept { return address_; }
    // The stages are the connection, the wait for the hello, and the wait for the welcome.
    Clock::time_point stage_start() const noexcept { return stage_start_; }
    // Moves the start by a time that does not count.
    void postpone_start(Clock::duration by) noexcept { stage_start_ += by; }
    int descriptor() const noexcept { return socket_.raw(); }
    short events() const noexcept;

    // Reads and writes what the socket allows.
    void advance();
    // Ends an attempt whose time is over.
    void expire();

    // These hand over the connection of an attempt that has joined, and what protects it.
    FileDescriptor take_socket() noexcept { return std::move(socket_); }
    const Secret& secret() const noexcept { return secret_; }
    protocol::FrameSeal seal() const;

private:
    enum class Stage { connecting, awaits_hello, awaits_welcome };

    void enter(Stage stage);
    void end(Outcome outcome, std::string why);
    std::string why_refused() const;
    void finish_connecting();
    bool receive();
    void handle(const std::string& payload);
    void greet(const std::string& hello);

    SocketAddress address_;
    const Admission* admission_;
    FileDescriptor socket_;
    Stage stage_ = Stage::connecting;
    Clock::time_point stage_start_ = Clock::now();
    std::optional<Outcome> outcome_;
    std::string why_, received_;
    int failure_ = 0;
    Secret secret_;
    bool store_has_credential_ = false;
    protocol::Greeting greeting_;
};

}  // namespace lockstep::comm
