// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_proof.hpp"

#include <cstring>
#include <vector>

#include "runtime/comm/store/hmac.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

constexpr std::size_t proof_bytes = protocol::proof_bytes;

std::string proof(const std::string& key, const std::string& nonce, int from, int to) {
    return hmac_sha256(key, nonce + std::to_string(from) + " to " + std::to_string(to));
}

}  // namespace

void prove_peers(const Member& self, std::uint64_t slot, const std::string& key,
                 const std::string& nonce) {
    const auto size = static_cast<std::size_t>(self.size);
    std::string shown(size * proof_bytes, '\0'), heard(shown);
    GlooBuffer out(self.links, shown.data(), shown.size());
    GlooBuffer in(self.links, heard.data(), heard.size());
    for (int peer = 0; peer < self.size; ++peer) {
        if (peer == self.rank) continue;
        const std::size_t at = static_cast<std::size_t>(peer) * proof_bytes;
        std::memcpy(shown.data() + at, proof(key, nonce, self.rank, peer).data(), proof_bytes);
        in.start_recv(peer, slot, at, proof_bytes);
        out.start_send(peer, slot, at, proof_bytes);
    }
    for (int peer = 1; peer < self.size; ++peer) in.wait_recv();
    out.wait_sends();
    for (int peer = 0; peer < self.size; ++peer) {
        const std::size_t at = static_cast<std::size_t>(peer) * proof_bytes;
        if (peer == self.rank || protocol::equal_proofs(heard.substr(at, proof_bytes),
                                                        proof(key, nonce, peer, self.rank)))
            continue;
        throw Error(ErrorKind::peer, "another program has connected in the place of rank " +
                                         std::to_string(peer) +
                                         ": it does not know this job's secret; start the run "
                                         "again, or use a network of the job's own (--interface)");
    }
}

}  // namespace lockstep::comm
