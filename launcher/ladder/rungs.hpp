// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "launcher/ladder/settings.hpp"

namespace lockstep::launcher::ladder {

// A rung is one speed-up: it changes the settings of the rung below.
struct Rung {
    std::string name;
    std::string folder;  // a name for files: "3-dynamic-batching"
    std::function<void(Settings&)> change;
    std::string absent;  // why it cannot be tried here; empty: it can
};

// Describes the hardware that the rungs can use.
struct Host {
    int gpus = 0;  // 0: the CPU computes
    int cores = 1;
    train::Precision fast = train::Precision::fp32;  // the device's fastest precision
};
Host host_of(const RunConfig& config);

enum class Validation { none, of_split };

// Returns the rungs of ParlAI's tutorial "Speeding up training", in its order. The user's values of
// --eval-batchsize, --num-workers and similar options are the values that their rungs set.
std::vector<Rung> rungs(const RunConfig& config, const Host& host, Validation validation);

}  // namespace lockstep::launcher::ladder
