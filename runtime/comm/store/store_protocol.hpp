// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/comm/secret/secret.hpp"

// Defines the protocol between the store and a rank. A frame is a length (4 bytes, little endian)
// followed by that many bytes. The greeting comes first, and nothing is accepted before it:
//     server: hello    = magic, server nonce, and the credential if a seal protects the secret
//     client: proof    = client nonce, HMAC(secret, "client" server nonce client nonce port)
//     server: welcome  = HMAC(secret, "server" server nonce client nonce port)
//     session key      = HMAC(secret, "session" server nonce client nonce port), which is not sent
// The port is that of the server, so nobody can pass the greeting on from another port. Requests
// and replies then follow in turn, each with a tag of frame_seal.hpp.
namespace lockstep::comm::protocol {

constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t proof_bytes = 32;          // SHA-256
constexpr std::size_t max_greeting_bytes = 128;  // of a proof, and of a welcome
constexpr std::size_t max_hello_bytes = 4096;
constexpr std::size_t max_frame_bytes = 1u << 20;
constexpr std::string_view magic = "lockstep store 2\n";

// will: the store sets the value when this connection has ended, for whatever reason; an empty key
// revokes it.
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

// Holds what both sides of a connection know after the greeting, besides the secret.
struct Greeting {
    std::string server_nonce, client_nonce;
    int port = 0;  // on which the server listens
};

std::string random_nonce();
std::string client_proof(const Secret& secret, const Greeting& greeting);
std::string server_proof(const Secret& secret, const Greeting& greeting);
// Returns the key of the frames that follow the greeting.
std::string session_key(const Secret& secret, const Greeting& greeting);
// Takes a time that does not depend on the position of the first difference.
bool equal_proofs(std::string_view a, std::string_view b) noexcept;

std::string encode(const Request& request);
std::string encode(const Reply& reply);
// Returns an empty result when the bytes do not have the expected form.
std::optional<Request> decode_request(std::string_view bytes);
std::optional<Reply> decode_reply(std::string_view bytes);

// Returns `payload` with its length in front.
std::string frame(std::string_view payload);

enum class FrameState { incomplete, complete, too_long };
// Moves the first whole frame of `buffer` to `payload`.
FrameState take_frame(std::string& buffer, std::size_t max_bytes, std::string& payload);

}  // namespace lockstep::comm::protocol
