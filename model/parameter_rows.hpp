// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/dropout_sites.hpp"
#include "runtime/train/parameter_table.hpp"

namespace lockstep::model {

// Says what a parameter is for. Norms are named after what they follow, wherever the model has them
// (Layer in blocks/weights.hpp); `first_norm` is the one before layer 0.
enum class Role {
    embeddings,
    positions,
    embedding_norm,
    first_norm,
    self_qkv,
    self_out,
    after_self,
    cross_q,
    cross_kv,
    cross_out,
    after_cross,
    ffn_up,
    ffn_down,
    after_ffn,
    q_norm,
    k_norm,
    head,
};

// lora_a and lora_b: of an adapter, whose B is stored transposed, as [rank, out].
enum class Values { weight, bias, lora_a, lora_b };

// Identifies a parameter within a model. The embedding table is the decoder's.
struct ParameterPlace {
    Role role;
    Values values = Values::weight;
    StackKind stack = StackKind::decoder;
    std::int64_t layer = 0;
    int part = 0;  // of an adapter: LoraModule::part

    auto operator<=>(const ParameterPlace&) const = default;
};

struct ParameterRow {
    ParameterPlace place;
    train::Parameter parameter;  // without offset and count, which the table calculates
};

// Returns the list of the parameters that training changes, in the order in which backward finishes
// them. It is the only place that has their names, shapes and initial values:
//       Distributions::parlai: embeddings and learned positions normal(0, d^-0.5) with the row of
//         __null__ zero; attention xavier_normal with q, k and v as separate [d, d] matrices;
//         feed-forward xavier_uniform; norms 1 and 0. Biases are 0 (ParlAI keeps PyTorch's
//         uniform).
//       Distributions::gpt2: normal(0, 0.02), the projections into the residual stream scaled by
//         1 / sqrt(2 * layers), biases 0, norms 1 and 0.
// A model with adapters has only theirs here, a block for each layer: A begins as PEFT's,
// uniform(-1 / sqrt(in), 1 / sqrt(in)), and B as 0. Tables that are trained whole have blocks where
// those of a model without adapters are, and begin as 0: the base's values are read instead.
std::vector<ParameterRow> parameter_rows(const ModelConfig& config);
// Returns what adapters are added to, which no run changes: all parameters of the same model
// without adapters, but the tables that only the trained ones take the place of. A model without
// adapters has no frozen rows.
std::vector<ParameterRow> frozen_rows(const ModelConfig& config);

}  // namespace lockstep::model
