// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/frame_seal.hpp"

#include "runtime/comm/secret/hmac.hpp"

namespace lockstep::comm::protocol {

FrameSeal::FrameSeal(const Secret& secret, const Greeting& greeting, Side self)
    : key_(session_key(secret, greeting)), self_(self) {}

std::string FrameSeal::sealed(std::string payload) {
    payload += tag(self_, sent_++, payload);
    return payload;
}

bool FrameSeal::open(std::string& bytes) {
    if (bytes.size() < tag_bytes) return false;
    const std::string_view payload(bytes.data(), bytes.size() - tag_bytes);
    const std::string_view given = std::string_view(bytes).substr(payload.size());
    const Side other = self_ == Side::client ? Side::server : Side::client;
    if (!equal_proofs(given, tag(other, received_, payload))) return false;
    ++received_;
    bytes.resize(payload.size());
    return true;
}

std::string FrameSeal::tag(Side sender, std::uint64_t number, std::string_view payload) const {
    std::string message(1, static_cast<char>(sender));
    message.append(std::to_string(number)).append(1, '\n').append(payload);
    return hmac_sha256(key_, message);
}

}  // namespace lockstep::comm::protocol
