// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/cpu/matmul/word_tile.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "runtime/kernels/into.hpp"

// A linear layer in bf16 and its gradients from pairs (word_tile.hpp), which come 2 to 23 % faster
// than by oneDNN 2.6 (docs/journal/performance.md). Each function returns false and calculates
// nothing if products of pairs may not be used, or if they do not suit the shapes: suits_...() in
// each source says when they do.
namespace lockstep::kernels::cpu {

// Describes the steps of a layer after its product and its bias. The mask is dropout's, of y's
// columns; coordinates[i] belongs to row i, and there may be none if nothing is dropped.
struct AfterProduct {
    Rectifier rectifier = Rectifier::none;
    RowMask mask = {};
    TokenCoordinates<HostSpace> coordinates = {};
};

// Calculates y [rows, out] = mask * rectifier(x [rows, in] * w^T + bias). The bias may be empty. y
// is rounded before and after the mask, as by two kernels.
bool layer_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> x, HostMatrix<const bf16> w,
                    HostView<const bf16> bias, const AfterProduct& after, HostMatrix<bf16> y);

// Calculates dx [rows, in] = or += dy [rows, out] * w [out, in].
bool input_gradient_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> dy,
                             HostMatrix<const bf16> w, HostMatrix<bf16> dx, Into into);

// Calculates dw [out, in] = or += dy^T * x. The order of the sums depends on the number of threads.
bool weight_gradient_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> dy,
                              HostMatrix<const bf16> x, HostMatrix<float> dw, Into into);

}  // namespace lockstep::kernels::cpu
