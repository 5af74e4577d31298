// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/parameter_rows.hpp"

namespace lockstep::model {

// A matrix that an adapter may be added to: the whole of a parameter, or, where transformers has
// several matrices, one of its parts (Parameter::parts).
struct LoraModule {
    const char* path;  // in a layer of transformers' model
    Role role;
    int part = 0, parts = 1;
};

// Returns those of a family, which are none if its adapters are not built.
std::span<const LoraModule> lora_modules(Kind kind) noexcept;

// Returns the paths of the modules that `targets` names as PEFT does: by the end of a path, such as
// q_proj, or all of them by all-linear. Throws kind config that names `origin` if one names none.
std::vector<std::string> lora_paths(Kind kind, const std::vector<std::string>& targets,
                                    const std::string& origin);
// Returns the shortest names that stand for exactly these paths.
std::vector<std::string> lora_targets(const ModelConfig& config);

// The adapter of one matrix, by the place of one of its factors: the path of its module in
// transformers' model, its rank and its factor s.
std::string lora_module_name(Kind kind, const ParameterPlace& place);
std::int64_t lora_rank(const ModelConfig& config, const ParameterPlace& place);
float lora_scale(const ModelConfig& config, const ParameterPlace& place);

// Returns the rows of a matrix's part: all of them if it has one.
struct RowRange {
    std::int64_t first = 0, count = 0;
};
RowRange rows_of_part(const train::Parameter& matrix, const LoraModule& module);

// Throws kind config if the adapters cannot be those of such a model.
void validate_lora(const ModelConfig& config);

}  // namespace lockstep::model
