// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.hpp"

namespace lockstep::tests {

// Every collective, element type and reduction on `count` elements per rank: small integers, so
// that sums are exact. Throws std::runtime_error naming the first wrong element. Call on every
// rank.
void check_collectives(comm::Communicator& ranks, std::size_t count);

// Splits into odd and even ranks, and checks the parts.
void check_split(comm::Communicator& ranks, std::size_t count);

}  // namespace lockstep::tests
