// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/kernels/step_logic.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

__global__ void begin_kernel(StepOrder order, Step* step) { step_logic::begin(order, *step); }

__global__ void end_micro_batch_kernel(Step* step) { step_logic::end_micro_batch(*step); }

// Uses 1 - beta^t = -expm1(t log(beta)), which is cheaper than pow().
__global__ void finish_kernel(StepRules rules, double log_beta1, double log_beta2, Step* step) {
    const double t = step_logic::update_number(*step);
    step_logic::finish(
        rules, {sqrt(step->squares.value()), -expm1(t * log_beta1), sqrt(-expm1(t * log_beta2))},
        *step);
}

}  // namespace

void begin_step(CudaContext& ctx, const StepOrder& order, Step* step) {
    launch(ctx, begin_kernel, {1, 1}, order, step);
}

void end_micro_batch(CudaContext& ctx, Step* step) {
    launch(ctx, end_micro_batch_kernel, {1, 1}, step);
}

void finish_step(CudaContext& ctx, const StepRules& rules, Step* step) {
    launch(ctx, finish_kernel, {1, 1}, rules, std::log(rules.beta1), std::log(rules.beta2), step);
}

}  // namespace lockstep::kernels
