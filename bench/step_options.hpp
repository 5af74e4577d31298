// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::bench {

// The options that say what is trained are those of bench/torch_peer.py, with the same defaults;
// the others are ours.
struct StepOptions {
    model::Kind kind = model::Kind::generator;
    train::Precision precision = train::Precision::fp32;
    std::int64_t layers = 8, d = 256, ffn = 1024, heads = 2, vocabulary = 11016;
    std::int64_t batch = 64, source = 104, target = 32;
    std::int64_t update_freq = 1, steps = 10, warmup = 3;
    std::string lengths;  // file of `source target` lines: rows of these lengths
    std::int64_t passes = 1, warmup_passes = 0;  // passes over that file
    // The options from here on are ours: the peer uses a GPU if it sees one.
    launcher::DeviceChoice device = launcher::DeviceChoice::automatic;
    float dropout = 0;  // for all kinds of dropout
    int threads = 0;    // per rank; 0: its share of the cores
    int ranks = 1;
    int zero = 0;  // what they share: the peer's option as well
    model::RecomputePlan recompute = {};
    bool compile = false;  // accepted so that command lines are alike; has no effect
    std::string trace;
    // ceiling: only the rate of a large product is measured; only_steps: everything but that.
    enum class Task { steps, ceiling, only_steps };
    Task task = Task::steps;
};

// Returns nothing after --help. Throws config errors.
std::optional<StepOptions> parse_step_options(const std::vector<std::string>& arguments);

// Returns the configuration of the peer's model. `longest` is the longest sequence.
model::ModelConfig model_config(const StepOptions& options, std::int64_t longest);

}  // namespace lockstep::bench
