// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/store/store_protocol.hpp"

namespace lockstep::comm::protocol {

// Proves that the frames of a connection come from the two that greeted each other, each once and
// in their order. A frame is its payload and a tag: HMAC-SHA256 with the session's key over the
// sender, the number of frames that it has sent before, and the payload. Nothing is encrypted.
//
//     FrameSeal seal(secret, greeting, FrameSeal::Side::client);
//     send(frame(seal.sealed(encode(request))));
//     if (seal.open(payload)) decode_reply(payload);
class FrameSeal {
public:
    enum class Side : char { client = 'c', server = 's' };
    static constexpr std::size_t tag_bytes = 32;

    FrameSeal(const Secret& secret, const Greeting& greeting, Side self);

    // Returns the payload and its tag.
    std::string sealed(std::string payload);
    // Removes the tag. Returns false if it is not the one that the other side would give.
    bool open(std::string& bytes);

private:
    std::string tag(Side sender, std::uint64_t number, std::string_view payload) const;

    std::string key_;
    Side self_;
    std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace lockstep::comm::protocol
