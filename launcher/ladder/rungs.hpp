// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "launcher/ladder/settings.hpp"

namespace lockstep::launcher::ladder {

// One speed-up: what it changes of the rung below.
struct Rung {
    std::string name;
    std::string folder;  // a name for files: "3-dynamic-batching"
    std::function<void(Settings&)> change;
    std::string absent;  // why it cannot be tried here; empty: it can
};

// What there is to climb with.
struct Host {
    int gpus = 0;  // 0: the CPU computes
    int cores = 1;
    train::Precision fast = train::Precision::fp32;  // the device's shortest
};
Host host_of(const RunConfig& config);

enum class Validation { none, of_split };

// The rungs of ParlAI's tutorial "Speeding up training", in its order. The user's own values of
// --eval-batchsize, --num-workers and so on are what their rungs go to.
std::vector<Rung> rungs(const RunConfig& config, const Host& host, Validation validation);

}  // namespace lockstep::launcher::ladder
