// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"

// These functions are the parts of Adafactor that work on a range of elements. They are compiled
// once per instruction set. g is the gradient times gradient_scale.
namespace lockstep::kernels::cpu::adafactor_rows {

// Adds g^2 + epsilon to column_sums and returns the sum of these values over the row.
float add_squares(const float* gradient, float gradient_scale, float epsilon, float* column_sums,
                  std::int64_t n);

// Writes update = g * row_factor * column_factors and returns the sum of its squares.
float factored_update(const float* gradient, float gradient_scale, float row_factor,
                      const float* column_factors, float* update, std::int64_t n);

// Computes moment = beta2 * moment + (1 - beta2) (g^2 + epsilon) and update = g / sqrt(moment).
// Returns the sum of the squares of the update.
float full_update(const float* gradient, float gradient_scale, float epsilon, float beta2,
                  float* moment, float* update, std::int64_t n);

struct Apply {
    float step;    // factor of the update
    float shrink;  // weight decay: w *= shrink
    float beta1;
};
// `first_moment` and `compute` may be null.
template <class T>
struct Range {
    const float* update;
    float *first_moment, *master;
    T* compute;
    std::int64_t size;
};
void apply(const Apply& apply, const Range<float>& range);
void apply(const Apply& apply, const Range<bf16>& range);

}  // namespace lockstep::kernels::cpu::adafactor_rows
