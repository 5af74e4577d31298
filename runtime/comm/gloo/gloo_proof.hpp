// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/comm/gloo/gloo_collectives.hpp"

namespace lockstep::comm {

// Gloo takes whoever connects first for the peer. Here each two ranks show each other, before any
// other message, that they know the key: HMAC-SHA256 over `nonce` and both ranks. Throws kind peer
// if another one is connected in a rank's place. What follows is neither encrypted nor signed.
void prove_peers(const Member& self, std::uint64_t slot, const std::string& key,
                 const std::string& nonce);

}  // namespace lockstep::comm
