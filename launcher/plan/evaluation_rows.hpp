// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "data/batching/batch_rules.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/plan/row_lengths.hpp"
#include "launcher/rank/data_sets.hpp"
#include "model/config.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher::plan {

// Knows the rows of a run's evaluations: of its validations, and of the one at its end, which takes
// the split 'test', too. Without data they are assumed to be rows of the maximum size.
class EvaluationRows {
public:
    // Knows of no evaluations.
    EvaluationRows() = default;
    // `training` are the data sets of the run. Throws config errors, as the run does.
    EvaluationRows(const RunConfig& config, const DataSets& training,
                   const model::ModelConfig& model);

    // Returns shapes as largest_batches() does, for the sizes of batches that these options give;
    // none if the run has no evaluations.
    std::vector<train::BatchShape> largest(const RunConfig& config) const;

private:
    data::BatchRules rules(const RunConfig& config) const;

    model::ModelConfig model_;
    data::DatasetKind kind_ = data::DatasetKind::dialogue;
    data::SpecialTokens special_;
    RowLengths lengths_;
};

}  // namespace lockstep::launcher::plan
