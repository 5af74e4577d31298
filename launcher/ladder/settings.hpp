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

// The rungs change these settings of a training run.
struct Settings {
    std::int64_t batchsize = 64, eval_batchsize = -1;  // -1: the same as batchsize
    Generation generation = Generation::on;            // generation in validations
    data::Dynamic dynamic = data::Dynamic::off;
    train::Precision precision = train::Precision::fp32;
    std::int64_t num_workers = 0;
    int ranks = 1;
    int stage = 0;  // of --zero
};

// Returns the program and its options: the user's options in `config` combined with these settings.
// The options that set its length and its folder are missing.
std::vector<std::string> command_of(const Settings& settings, const RunConfig& config);

}  // namespace lockstep::launcher::ladder
