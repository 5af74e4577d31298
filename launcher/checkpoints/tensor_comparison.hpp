// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/checkpoint/stored_tensors.hpp"

namespace lockstep::launcher::checkpoints {

// Tells how a tensor of A differs from B's of the same name.
struct TensorDifference {
    std::string name;
    std::vector<std::int64_t> shape;  // A's, or B's if A lacks it
    std::string missing;          // "not in A", "not in B" or "B has [2, 3]"; empty: both have it
    std::size_t values = 0;       // elements
    std::size_t differing = 0;    // of them, those whose bits differ
    double largest_absolute = 0;  // infinite where one value is not finite and the other differs
    double largest_relative = 0;  // |a - b| / max(|a|, |b|)
    bool beyond_tolerance = false;
};

struct TensorComparison {
    std::vector<TensorDifference> differing;  // in A's order, those that only B has at the end
    std::size_t equal = 0;                    // tensors that are the same bit for bit

    // Tells whether a tensor is missing, has another shape or differs by more than the tolerance.
    bool differs() const noexcept;
    // Returns how many tensors differ by no more than the tolerance.
    std::size_t within_tolerance() const noexcept;
};

// Which tensors are compared: all, or those of the model alone.
enum class Compared { all, weights };

// Compares the tensors of two checkpoints or files. Values are within the tolerance if |a - b| is
// at most `tolerance` times the largest of 1, |a| and |b|; 0: the bits have to be the same.
TensorComparison compare_tensors(train::StoredTensors& a, train::StoredTensors& b,
                                 Compared compared, double tolerance);

}  // namespace lockstep::launcher::checkpoints
