// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Holds where the ranks meet. -1: no port was given; 0: any free one.
struct Endpoint {
    std::string host;
    int port = -1;
};

// Reads torchrun's --rdzv-endpoint: HOST, HOST:PORT, an IPv6 address, or one in brackets with a
// port. An address of IPv6 without brackets is split as torchrun does, unless it can be read in
// both ways. Throws a config error that shows the text.
Endpoint parse_endpoint(const std::string& text);

}  // namespace lockstep::launcher
