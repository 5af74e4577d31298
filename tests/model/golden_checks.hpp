// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/loss_sums.hpp"
#include "tests/model/golden.hpp"

namespace lockstep::tests {

// Whole models of every kind.
std::vector<std::string> golden_cases();

// What a model computed for the golden's batch.
struct Computed {
    kernels::LossSums sums;
    std::vector<float> gradient;  // the whole buffer
};

// Loss and every gradient are PyTorch's, to fp32's rounding.
void check_exact(Golden& golden, const train::ParameterTable& table, const Computed& computed);
// They differ from PyTorch's fp64 by no more than this share of what bf16 may.
void check_rounded(Golden& golden, const train::ParameterTable& table, const Computed& computed,
                   double share = 1);
// So is an evaluation's.
void check_evaluation(Golden& golden, const kernels::LossSums& sums);

}  // namespace lockstep::tests
