// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.hpp"

namespace lockstep::tests {

// Checks every collective, element type and reduction with `count` elements per rank: small
// integers, so that sums are exact. Throws std::runtime_error that names the first wrong element.
// Every rank must call it.
void check_collectives(comm::Communicator& ranks, std::size_t count);

// Checks that a reduce_scatter adds in the order of the ring that gloo_collectives.hpp describes,
// which inexact sums tell: the same bits come from every transport that has one. `count` is per
// rank.
void check_ring_order(comm::Communicator& ranks, std::size_t count);

// Checks that sums of bf16 are added in fp32, in the order of the ranks, and rounded once: by an
// all_reduce of `count` elements, and by a reduce_scatter of as many per rank.
void check_owner_sums(comm::Communicator& ranks, std::size_t count);

// Splits into odd and even ranks, and checks the parts.
void check_split(comm::Communicator& ranks, std::size_t count);

}  // namespace lockstep::tests
