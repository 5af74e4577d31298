// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "launcher/ladder/settings.hpp"

namespace lockstep::launcher::ladder {

// speed: a rung that is faster is kept. memory: the rung tells what saving memory costs, and no
// other rung builds on it.
enum class Purpose { speed, memory };

// A rung is one change of the settings of the rung below.
struct Rung {
    std::string name;
    std::string folder;  // a name for files: "3-dynamic-batching"
    std::function<void(Settings&)> change;
    std::string absent;  // why it cannot be tried here; empty: it can
    Purpose purpose = Purpose::speed;
};

// Describes the hardware that the rungs can use.
struct Host {
    int gpus = 0;  // 0: the CPU computes
    int cores = 1;
    train::Precision fast = train::Precision::fp32;  // the device's fastest precision
};
Host host_of(const RunConfig& config);

enum class Validation { none, of_split };

// Returns the rungs of ParlAI's tutorial "Speeding up training", in its order, and then the stages
// of --zero on several ranks. The user's values of
// --eval-batchsize, --num-workers and similar options are the values that their rungs set.
std::vector<Rung> rungs(const RunConfig& config, const Host& host, Validation validation);

}  // namespace lockstep::launcher::ladder
