// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/probes/facts.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/join/make_communicator.hpp"

namespace lockstep::launcher::doctor {

// Describes the planned run that the doctor checks.
struct Request {
    std::string data, model_folder;                  // empty: not checked
    std::int64_t checkpoints_bytes = 0;              // 0: not known
    std::int64_t training_bytes = 0, gpu_bytes = 0;  // needed by one rank; 0: not known
    std::int64_t threads = 0;                        // threads of a rank; 0: its share of the cores
    std::string problem;  // why the run could not even begin with its options; empty: it could
    Computes computes = Computes::on_cpu;
    SharedReplicas shared;
    std::vector<model::SlowShape> slow_shapes;  // in the requested precision
    std::chrono::milliseconds timeout{30'000};  // maximum time that a rank waits for another
    std::chrono::milliseconds read_for{3'000};  // maximum time for reading the data
    comm::CommOptions comm;

    // Returns the maximum time for one question to a server, a driver or another host.
    std::chrono::milliseconds check_time() const {
        return std::min(timeout, std::chrono::milliseconds(4'000));
    }
};

// Examines everything together with the other ranks, in bounded time. Returns the facts on rank 0
// and nothing on the others. Throws when this rank cannot meet the others.
std::optional<Facts> examine(const comm::RankInfo& rank_info, const Request& request);

}  // namespace lockstep::launcher::doctor
