// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/comm/place/rank_info.hpp"
#include "runtime/comm/store/secret.hpp"
#include "runtime/comm/store/secret_envelope.hpp"

namespace lockstep::comm {

// What ranks tell each other before they have a communicator: values by name, kept by one of them.
// Calls may come from several threads; one that waits holds up the others of the same store.
class Store {
public:
    virtual ~Store() = default;

    virtual void set(const std::string& key, const std::string& value) = 0;
    // Waits until the key is set; throws kind peer after `timeout_ms`.
    virtual std::string get(const std::string& key, int timeout_ms) = 0;
    // Adds to a counter that starts at 0; returns the sum.
    virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

    // The address by which this rank reaches rank 0, numeric: other ranks can reach it by the same.
    virtual std::string local_address() const = 0;
};

constexpr int store_ports = 16;  // P..P+15, the first free one

// Opens the job's store: rank 0 serves it as long as the object lives, all connect, itself
// included. Both sides prove that they know the secret. Where none is given rank 0 makes one, and
// the hosts' Munge hands it to the same user's ranks, else PMIx to the same job's; without either
// only loopback is served.
std::unique_ptr<Store> open_store(const RankInfo& place, const Secret& secret, int timeout_ms);

// The same with a seal instead of Munge's; null: none.
std::unique_ptr<Store> open_store(const RankInfo& place, const Secret& secret,
                                  std::shared_ptr<SecretEnvelope> seal, int timeout_ms);

// Raises this process's limit of open descriptors, as far as it may, to hold that many connections
// beside what else it has open: usual limits are below the ranks of a large job.
void allow_connections(int count);

}  // namespace lockstep::comm
