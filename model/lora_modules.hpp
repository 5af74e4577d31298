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

// A table that may be trained whole beside adapters.
struct WholeModule {
    const char* path;  // in transformers' model
    Role role;
};

// Returns those of a family, of which there are none if its adapters are not built.
std::span<const WholeModule> whole_modules(Kind kind) noexcept;

// Returns the paths of those that `targets` names by the end of a path. Throws as lora_paths()
// does, but takes an empty list.
std::vector<std::string> whole_paths(Kind kind, const std::vector<std::string>& targets,
                                     const std::string& origin);

// Sets Lora::ensure_tied of adapters with such tables. A GPT-2's table is always its head, and PEFT
// ties them only if the head is named, so that both are.
void tie_tables(Kind kind, Lora& lora);

// Tells which tables training changes; both are one if `tied`. Each that adapters have whole is a
// copy of its own, as in PEFT, so that the head of a base whose table is its head becomes another
// matrix, unless Lora::ensure_tied says otherwise.
struct TrainedTables {
    bool embeddings = false, head = false, tied = false;
};
TrainedTables trained_tables(const ModelConfig& config) noexcept;
// Tells whether the head is another matrix than the table of embeddings.
Has has_own_head(const ModelConfig& config) noexcept;
// Tells whether that is so for the adapters alone.
Has unties(const ModelConfig& config) noexcept;

// The adapter of one matrix, by the place of one of its factors: the path of its module in
// transformers' model, its rank and its factor s. A table that is trained whole has a path, too.
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
