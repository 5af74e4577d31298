// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/secret/secret_envelope.hpp"

namespace lockstep::comm {

// Exchanges values between ranks before they have a communicator; one rank keeps them by name.
// Several threads may call it; a call that waits blocks the other calls of the same store.
class Store {
public:
    virtual ~Store() = default;

    virtual void set(const std::string& key, const std::string& value) = 0;
    // Waits until the key is set. Throws kind peer after `timeout_ms`.
    virtual std::string get(const std::string& key, int timeout_ms) = 0;
    // Adds to a counter that starts at 0 and returns the sum.
    virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

    // Returns the numeric address from which this rank reaches rank 0; other ranks can reach this
    // rank at it.
    virtual std::string local_address() const = 0;

    // Returns 32 bytes that only the ranks of this job can compute, others for each purpose.
    virtual std::string key_for(const std::string& purpose) const = 0;
};

constexpr int store_ports = 16;  // rank 0 serves on the first free port of P to P + 15

// Opens the job's store. Rank 0 serves it as long as the object lives; all ranks connect to it,
// rank 0 included. Both sides prove that they know the secret. If no secret is given, rank 0 makes
// one, and Munge hands it to the same user's ranks, or PMIx to the same job's ranks. Without both a
// private file does so on rank 0's host; only loopback is served then. Throws kind config if ranks
// may be on several hosts and have neither.
std::unique_ptr<Store> open_store(const RankInfo& rank_info, const Secret& secret, int timeout_ms);

// Returns what hands over a secret that rank 0 makes: Munge, PMIx or the file.
std::unique_ptr<SecretEnvelope> envelope_of(const RankInfo& rank_info);

// Uses `envelope` instead of these; it may be null if there is a secret. Otherwise
// as above.
std::unique_ptr<Store> open_store(const RankInfo& rank_info, const Secret& secret,
                                  const std::shared_ptr<SecretEnvelope>& envelope, int timeout_ms);

// Raises this process's limit of open descriptors as far as the system allows, to hold `count`
// connections in addition to its other descriptors. The usual limits are below the number of ranks
// of a large job.
void allow_connections(int count);

}  // namespace lockstep::comm
