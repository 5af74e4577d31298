// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "launcher/options/run_config.hpp"
#include "runtime/train/precision.hpp"

namespace lockstep::launcher::ladder {

enum class Generation { on, off };

// What the rungs change of a training run.
struct Settings {
    std::int64_t batchsize = 64, eval_batchsize = -1;  // -1: as batchsize
    Generation generation = Generation::on;            // in validations
    data::Dynamic dynamic = data::Dynamic::off;
    train::Precision precision = train::Precision::fp32;
    std::int64_t num_workers = 0;
    int ranks = 1;
};

// The program and its options: what the user asked for in `config`, and these settings. Lacks what
// says how long it trains and where to.
std::vector<std::string> command_of(const Settings& settings, const RunConfig& config);

}  // namespace lockstep::launcher::ladder
