// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/device.h>

#include <memory>
#include <string>

namespace lockstep::comm {

// Makes a TCP device bound to `interface`, or to `address` when `interface` is empty. Its ranks
// know each other by `key`. Throws kind config when Gloo cannot use the address.
std::shared_ptr<gloo::transport::Device> gloo_device(const std::string& interface,
                                                     const std::string& address,
                                                     const std::string& key);

// Call it only in a catch block. It rethrows Lockstep's errors unchanged and Gloo's as kind peer
// when a connection was lost or a time-out passed, otherwise as kind gloo.
[[noreturn]] void throw_gloo_error(int timeout_ms);

}  // namespace lockstep::comm
