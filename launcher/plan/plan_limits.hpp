// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"

// What a dry step has lists of, so that a larger run cannot be planned.
namespace lockstep::launcher::plan {

// Returns the tokens of the shape that has the most.
std::int64_t tokens_of_largest(const std::vector<train::BatchShape>& shapes);

// Returns whether no micro-batch has more tokens than can be listed.
bool plannable(const std::vector<train::BatchShape>& shapes);
// Throws a data error if one has. `options` are those that make it smaller.
void require_plannable(const std::vector<train::BatchShape>& shapes, const std::string& options);

// Throws a config error if the model's gradients have more buckets than can be listed.
void require_countable_buckets(const model::ModelConfig& model, std::size_t bucket_bytes);

}  // namespace lockstep::launcher::plan
