// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/loss_sums.hpp"
#include "tests/model/golden.hpp"

namespace lockstep::tests {

// Returns the names of whole models of every kind.
std::vector<std::string> golden_cases();

// The results of a model for the golden's batch.
struct Computed {
    kernels::LossSums sums;
    std::vector<float> gradient;  // the whole buffer
};

// Checks that the loss and every gradient are PyTorch's, within the rounding of fp32.
void check_exact(Golden& golden, const train::ParameterTable& table, const Computed& computed);
// Checks that the loss and the gradients differ from PyTorch's fp64 by at most this share of the
// bound for bf16.
void check_rounded(Golden& golden, const train::ParameterTable& table, const Computed& computed,
                   double share = 1);
// Checks that the loss of an evaluation is PyTorch's negative log-likelihood, within the rounding
// of fp32.
void check_evaluation(Golden& golden, const kernels::LossSums& sums);

}  // namespace lockstep::tests
