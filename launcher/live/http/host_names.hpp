// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace lockstep::launcher::live {

// Holds the names by which a browser may ask for the pages. A page of a stranger could give its own
// name an address of this host (DNS rebinding), and the browser would then show it what is served
// here. Addresses and names that mean this host cannot be a stranger's.
class HostNames {
public:
    // Accepts also `given`, the name by which the user has this host listen; it may be empty.
    explicit HostNames(const std::string& given);

    // `host` is the header of a request, with or without a port.
    bool accepts(const std::string& host) const;

private:
    std::set<std::string> names_;
};

// Returns this host's own name.
std::string own_host_name();

}  // namespace lockstep::launcher::live
