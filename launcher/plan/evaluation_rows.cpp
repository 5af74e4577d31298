// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/evaluation_rows.hpp"

#include "launcher/options/batching.hpp"

namespace lockstep::launcher::plan {

EvaluationRows::EvaluationRows(const RunConfig& config, const DataSets& training,
                               const model::ModelConfig& model)
    : model_(model) {
    if (training.sets.empty()) {
        lengths_ = full_rows(rules(config));
        return;
    }
    kind_ = training.first().kind();
    special_ = training.first().special();
    const DataSets validation = validation_sets(config, training);
    const DataSets& evaluated = final_sets(training, validation);
    for (const char* split : {data::format::valid_split, data::format::test_split}) {
        const DataSets having = sets_with(evaluated, split);
        for (const auto& [size, count] : row_lengths(having, split, rules(config)))
            lengths_[size] += count;
    }
}

std::vector<train::BatchShape> EvaluationRows::largest(const RunConfig& config) const {
    if (lengths_.empty()) return {};
    return largest_batches(lengths_, rules(config));
}

data::BatchRules EvaluationRows::rules(const RunConfig& config) const {
    return {eval_batching(config, model_), kind_, special_};
}

}  // namespace lockstep::launcher::plan
