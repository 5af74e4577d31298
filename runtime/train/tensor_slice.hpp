// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/train/parameter_table.hpp"

namespace lockstep::train {

// Tells which of the ranks that divide a model's layers this one is. Parameters are cut as their
// `split` says, of which this file is the only reader.
struct TensorSlice {
    int rank = 0, size = 1;

    bool is_whole() const noexcept { return size == 1; }
    bool operator==(const TensorSlice&) const = default;
};

// Neighbouring rows of the whole parameter that a rank holds. `copies` neighbouring ranks, of which
// the first one's number is a multiple of it, hold the same rows: their gradients are added.
struct SliceRun {
    std::int64_t first = 0, rows = 0;
    int copies = 1;
};

// What a rank holds of a parameter: some columns of runs of rows, one run after the other. A vector
// has rows of one element.
struct SliceShape {
    std::vector<SliceRun> runs;
    std::int64_t first_column = 0, columns = 0, whole_columns = 0;
};
SliceShape slice_shape(const Parameter& whole, const TensorSlice& slice);

// Returns the parameter as the rank has it in its table.
Parameter sliced(const Parameter& whole, const TensorSlice& slice);
ParameterTable sliced(const ParameterTable& whole, const TensorSlice& slice);

// Copy a rank's part of a parameter from the values of the whole, or to them.
void cut(const Parameter& whole, const TensorSlice& slice, HostView<const float> from,
         HostView<float> part);
void join(const Parameter& whole, const TensorSlice& slice, HostView<const float> part,
          HostView<float> to);

}  // namespace lockstep::train
