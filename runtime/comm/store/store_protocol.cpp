// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_protocol.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>

#include "runtime/comm/secret/hmac.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm::protocol {

namespace {

std::string proof(const Secret& secret, std::string_view role, const Greeting& greeting) {
    return hmac_sha256(secret.text(), std::string(role) + greeting.server_nonce +
                                          greeting.client_nonce + std::to_string(greeting.port));
}

template <class Integer>
void append(std::string& bytes, Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
        bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
    }
}

// Reads what append() wrote and checks each length against the number of bytes left.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <class Integer>
    bool read(Integer& value) {
        if (bytes_.size() < sizeof value) return false;
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < sizeof value; ++i) {
            bits |= std::uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
        }
        value = static_cast<Integer>(bits);
        bytes_.remove_prefix(sizeof value);
        return true;
    }
    bool read(std::string& text) {
        std::uint32_t length = 0;
        if (!read(length) || length > bytes_.size()) return false;
        text = bytes_.substr(0, length);
        bytes_.remove_prefix(length);
        return true;
    }
    bool at_end() const noexcept { return bytes_.empty(); }

private:
    std::string_view bytes_;
};

void append_text(std::string& bytes, std::string_view text) {
    append(bytes, static_cast<std::uint32_t>(text.size()));
    bytes.append(text);
}

}  // namespace

std::string random_nonce() {
    std::array<unsigned char, nonce_bytes> random{};
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        throw Error(ErrorKind::store, "the system gives no random numbers for the store");
    }
    return {reinterpret_cast<const char*>(random.data()), random.size()};
}

std::string client_proof(const Secret& secret, const Greeting& greeting) {
    return proof(secret, "client", greeting);
}

std::string server_proof(const Secret& secret, const Greeting& greeting) {
    return proof(secret, "server", greeting);
}

std::string session_key(const Secret& secret, const Greeting& greeting) {
    return proof(secret, "session", greeting);
}

bool equal_proofs(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string encode(const Request& request) {
    std::string bytes;
    append(bytes, static_cast<std::uint8_t>(request.command));
    append(bytes, request.number);
    append_text(bytes, request.key);
    append_text(bytes, request.value);
    return bytes;
}

std::string encode(const Reply& reply) {
    std::string bytes;
    append(bytes, static_cast<std::uint8_t>(reply.status));
    append(bytes, reply.number);
    append_text(bytes, reply.value);
    return bytes;
}

std::optional<Request> decode_request(std::string_view bytes) {
    Reader reader(bytes);
    Request request;
    std::uint8_t command = 0;
    const bool whole = reader.read(command) && reader.read(request.number) &&
                       reader.read(request.key) && reader.read(request.value) && reader.at_end();
    if (!whole || command < 1 || command > 4) return std::nullopt;
    request.command = static_cast<Command>(command);
    return request;
}

std::optional<Reply> decode_reply(std::string_view bytes) {
    Reader reader(bytes);
    Reply reply;
    std::uint8_t status = 0;
    const bool whole = reader.read(status) && reader.read(reply.number) &&
                       reader.read(reply.value) && reader.at_end();
    if (!whole || status < 1 || status > 3) return std::nullopt;
    reply.status = static_cast<Status>(status);
    return reply;
}

std::string frame(std::string_view payload) {
    std::string bytes;
    append_text(bytes, payload);
    return bytes;
}

FrameState take_frame(std::string& buffer, std::size_t max_bytes, std::string& payload) {
    std::uint32_t length = 0;
    if (!Reader(buffer).read(length)) return FrameState::incomplete;
    if (length > max_bytes) return FrameState::too_long;
    if (buffer.size() < sizeof length + length) return FrameState::incomplete;
    payload = buffer.substr(sizeof length, length);
    buffer.erase(0, sizeof length + length);
    return FrameState::complete;
}

}  // namespace lockstep::comm::protocol
