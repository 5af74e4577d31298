// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/place.hpp"

namespace lockstep::comm {

// Throws kind config for an interface that this host does not have, or by which it reaches only
// itself where the ranks are on several.
void check_interface(const std::string& interface, const Place& place);

}  // namespace lockstep::comm
