// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::comm {

// Returns the 32 bytes of HMAC-SHA256 (RFC 2104). Throws kind store if OpenSSL lacks it.
std::string hmac_sha256(std::string_view key, std::string_view message);

}  // namespace lockstep::comm
