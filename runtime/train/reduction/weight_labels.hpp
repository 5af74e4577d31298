// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/parameter_table.hpp"
#include "runtime/train/reduction/buckets.hpp"

namespace lockstep::train {

// The labels of operations on weights, and on buckets of gradients, begin with these texts.
inline constexpr const char* weights_label = "weights ";
inline constexpr const char* bucket_label = "bucket ";

// Returns the label under which each bucket's weights travel, in traces and in reports of ranks
// that hang. It names the blocks in the order of the table: "weights 3 of decoder.layers.2".
std::vector<std::string> weight_labels(const ParameterTable& table,
                                       const std::vector<Bucket>& buckets);

}  // namespace lockstep::train
