// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/rendezvous/store.h>
#include <gloo/transport/device.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

// Adapts the job's store to Gloo's store interface.
class GlooRendezvous : public gloo::rendezvous::Store {
public:
    // `prefix` keeps the keys of several communicators apart.
    GlooRendezvous(comm::Store& store, std::string prefix, int timeout_ms);

    void set(const std::string& key, const std::vector<char>& data) override;
    std::vector<char> get(const std::string& key) override;
    void wait(const std::vector<std::string>& keys) override;
    void wait(const std::vector<std::string>& keys,
              const std::chrono::milliseconds& timeout) override;

private:
    comm::Store& store_;
    std::string prefix_;
    int timeout_ms_;
};

// Makes a TCP device bound to `interface`, or to `address` when `interface` is empty. Its ranks
// know each other by `key`. Throws kind config when Gloo cannot use the address.
std::shared_ptr<gloo::transport::Device> gloo_device(const std::string& interface,
                                                     const std::string& address,
                                                     const std::string& key);

// Call it only in a catch block. It rethrows Lockstep's errors unchanged and Gloo's as kind peer
// when a connection was lost or a time-out passed, otherwise as kind gloo.
[[noreturn]] void throw_gloo_error(int timeout_ms);

}  // namespace lockstep::comm
