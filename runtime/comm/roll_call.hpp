// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/place.hpp"
#include "runtime/comm/pmix_client.hpp"

namespace lockstep::comm {

// What a rank leaves before it waits for MPI_Init, so that the others know it has come.
void answer_roll_call(PmixClient& pmix, const std::string& host);

// For a rank that has waited in vain for MPI_Init: which ranks have not come, with their hosts, as
// far as PMIx tells within `patience_ms`. Empty where it tells nothing.
std::string roll_call(const Place& place, int patience_ms);

}  // namespace lockstep::comm
