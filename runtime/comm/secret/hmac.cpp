// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/secret/hmac.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

std::string hmac_sha256(std::string_view key, std::string_view message) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    const auto* text = reinterpret_cast<const unsigned char*>(message.data());
    const unsigned char* done = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text,
                                       message.size(), digest.data(), &length);
    if (done == nullptr)
        throw Error(ErrorKind::store, "HMAC-SHA256 is not available in this OpenSSL");
    return {reinterpret_cast<const char*>(digest.data()), length};
}

}  // namespace lockstep::comm
