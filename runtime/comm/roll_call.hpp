// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/place.hpp"

namespace lockstep::comm {

// For ranks that have waited in vain for MPI_Init, and all ask within `patience_ms`: which ranks do
// not, with their hosts, as far as PMIx tells. Empty where it tells nothing.
std::string roll_call(const Place& place, int patience_ms);

}  // namespace lockstep::comm
