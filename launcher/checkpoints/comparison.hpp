// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/checkpoints/tensor_comparison.hpp"

namespace lockstep::launcher::checkpoints {

// A value that A and B do not have alike; "none" where one has none.
struct Differing {
    std::string name, a, b;
};

// Tells how two checkpoints, models or files of weights differ.
struct Comparison {
    std::string a, b;  // what was compared: the checkpoint or the file
    std::vector<Differing> options, state, versions;
    std::vector<std::string> notes;  // what was not compared, and why
    TensorComparison tensors;
    double tolerance = 0;

    // Versions only explain differences; they are none.
    bool differs() const noexcept {
        return !options.empty() || !state.empty() || tensors.differs();
    }
};

// Compares what two paths name: a checkpoint, a model folder (its best weights, or its newest good
// checkpoint) or a .safetensors file. Options of the launch (device, ranks, output) and the
// training time are not compared. Throws kind config if a path names none of these, and kind data
// if what it names is damaged.
Comparison compare(const std::string& a, const std::string& b, double tolerance);

std::string text(const Comparison& comparison);
std::string json_text(const Comparison& comparison);

}  // namespace lockstep::launcher::checkpoints
