// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/mesh.hpp"
#include "runtime/comm/tape.hpp"

namespace lockstep::train {

// The bytes that a rank sends in a step, by the group among which they travel.
struct StepTraffic {
    std::int64_t weights = 0;    // gathers among the ranks that share a replica
    std::int64_t gradients = 0;  // sums among these ranks
    std::int64_t replicas = 0;   // sums between replicas: of whole gradients if nothing is shared
    std::int64_t tensor = 0;     // among the ranks that compute each layer together
    std::int64_t pipeline = 0;   // among the stages of the layers

    std::int64_t total() const noexcept {
        return weights + gradients + replicas + tensor + pipeline;
    }
};

// Returns the bytes of gradients and weights that the rank of a step's tape has sent, every
// collective around a ring (comm::bytes_sent). The rows of a tied table that is summed in parts,
// and sums of a few numbers, are not counted.
StepTraffic step_traffic(const comm::Tape& tape, const comm::MeshShape& mesh,
                         comm::HalfSums half_sums);

}  // namespace lockstep::train
