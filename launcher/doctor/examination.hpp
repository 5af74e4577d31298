// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/facts.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::launcher::doctor {

// What the run that is to come would ask of the place.
struct Request {
    std::string data, model_folder;                  // empty: not asked for
    std::int64_t checkpoints_bytes = 0;              // 0: not known
    std::int64_t training_bytes = 0, gpu_bytes = 0;  // of a rank; 0: not known
    std::int64_t threads = 0;                        // of a rank; 0: its share
    std::string problem;  // why the run could not even begin: its options against what is there
    Computes computes = Computes::on_cpu;
    std::vector<model::SlowShape> slow_shapes;  // of the model, in the precision asked for
    std::chrono::milliseconds timeout{30'000};  // that a rank waits for another
    std::chrono::milliseconds read_for{3'000};  // of the data
    comm::CommOptions comm;

    // Longest for one question to a server, a driver or another host.
    std::chrono::milliseconds check_time() const {
        return std::min(timeout, std::chrono::milliseconds(4'000));
    }
};

// Looks at everything together with the other ranks, in bounded time. The facts on rank 0, empty on
// the others. Throws what keeps this rank from meeting the others.
std::optional<Facts> examine(const comm::RankInfo& place, const Request& request);

}  // namespace lockstep::launcher::doctor
