// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"

// The parts of Adafactor that work on a range of elements; compiled per instruction set. g is the
// gradient times gradient_scale.
namespace lockstep::kernels::cpu::adafactor_rows {

// column_sums += g^2 + epsilon; returns the sum of the same over the row.
float add_squares(const float* gradient, float gradient_scale, float epsilon, float* column_sums,
                  std::int64_t n);

// update = g * row_factor * column_factors; returns the sum of its squares.
float factored_update(const float* gradient, float gradient_scale, float row_factor,
                      const float* column_factors, float* update, std::int64_t n);

// moment = beta2 * moment + (1 - beta2) (g^2 + epsilon); update = g / sqrt(moment); returns the sum
// of its squares.
float full_update(const float* gradient, float gradient_scale, float epsilon, float beta2,
                  float* moment, float* update, std::int64_t n);

struct Apply {
    float step;    // what the update is multiplied with
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
