// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/batching/batching_options.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

// read: the batches contain whole contexts and references of their rows.
enum class ReferenceText { skip, read };

struct EvalLoaderOptions {
    BatchingOptions batching;
    std::string split = "valid";
    int rank = 0;
    int world = 1;
    std::int64_t max_examples = -1;  // rows over all ranks; <= 0: all
    ReferenceText references = ReferenceText::skip;
};

// Returns true if the split stores labels as text, which replies are compared with. Plain text and
// the training split have none.
bool holds_references(const Dataset& dataset, std::string_view split);

// Opens the rows of the split that belong to this rank. Their order is always the same.
std::unique_ptr<train::EvalSource> open_eval_source(const Dataset& dataset,
                                                    const EvalLoaderOptions& options);

}  // namespace lockstep::data
