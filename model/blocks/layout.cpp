// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/layout.hpp"

#include <utility>

#include "model/parameter_rows.hpp"
#include "model/pipeline_division.hpp"

namespace lockstep::model {

train::ParameterTable parameter_table(const ModelConfig& config, const train::TensorSlice& slice,
                                      const train::PipelineStage& stage) {
    validate(config);
    train::ParameterTable table;
    for (const ParameterRow& row : parameter_rows(config, stage))
        table.add(train::sliced(row.parameter, slice));
    return table;
}

train::ParameterTable frozen_table(const ModelConfig& config) {
    validate(config);
    train::ParameterTable table;
    for (ParameterRow& row : frozen_rows(config)) table.add(std::move(row.parameter));
    return table;
}

}  // namespace lockstep::model
