// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/comm/store/secret.hpp"

// What goes over the wire between a store and a rank. A frame is a length (4 bytes, little endian)
// and that many bytes. Greeting, before anything else is believed:
//   server: hello    = magic, server nonce, and where a seal protects the secret, that credential
//   client: proof    = client nonce, HMAC(secret, "client" server nonce client nonce)
//   server: welcome  = HMAC(secret, "server" server nonce client nonce)
// then requests and replies in turn.
namespace lockstep::comm::protocol {

constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t proof_bytes = 32;          // SHA-256
constexpr std::size_t max_greeting_bytes = 128;  // from a client
constexpr std::size_t max_hello_bytes = 4096;
constexpr std::size_t max_frame_bytes = 1u << 20;
constexpr std::string_view magic = "lockstep store 1\n";

// will: the value is set once this connection has ended, however it did; an empty key revokes it.
enum class Command : std::uint8_t { set = 1, get = 2, add = 3, will = 4 };
enum class Status : std::uint8_t { done = 1, timed_out = 2, refused = 3 };

struct Request {
    Command command = Command::get;
    std::int64_t number = 0;  // get: time-out in ms; add: the amount
    std::string key;
    std::string value;
};

struct Reply {
    Status status = Status::done;
    std::int64_t number = 0;
    std::string value;
};

std::string random_nonce();
std::string client_proof(const Secret& secret, std::string_view server_nonce,
                         std::string_view client_nonce);
std::string server_proof(const Secret& secret, std::string_view server_nonce,
                         std::string_view client_nonce);
// In a time that does not depend on where they differ.
bool equal_proofs(std::string_view a, std::string_view b) noexcept;

std::string encode(const Request& request);
std::string encode(const Reply& reply);
// Empty when the bytes are not what their sender should send.
std::optional<Request> decode_request(std::string_view bytes);
std::optional<Reply> decode_reply(std::string_view bytes);

// `payload` with its length in front.
std::string frame(std::string_view payload);

enum class FrameState { incomplete, complete, too_long };
// Moves the first whole frame of `buffer` to `payload`.
FrameState take_frame(std::string& buffer, std::size_t max_bytes, std::string& payload);

}  // namespace lockstep::comm::protocol
