// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/layer_parts.hpp"

namespace lockstep::model {

// Describes adapters of low rank (LoRA, arXiv:2106.09685) as PEFT has them: y = W x + s B (A x),
// where A is [rank, in] and B is [out, rank]. W and all else of the base stay as they are.
struct Lora {
    std::int64_t rank = 0;  // 0: the model has no adapters
    float alpha = 0;
    Has rank_stabilized = Has::no;  // s is alpha / sqrt(rank) and not alpha / rank
    float dropout = 0;              // of what an adapter reads, in training
    // Other ranks and alphas. One holds for the modules whose path in transformers' model is its
    // key or ends with it, behind a dot; the first that fits counts.
    std::vector<std::pair<std::string, std::int64_t>> ranks = {};
    std::vector<std::pair<std::string, float>> alphas = {};
    // Paths of lora_modules(), in their order, such as "self_attn.q_proj".
    std::vector<std::string> modules = {};
    // Tables that are trained whole, beside the adapters (PEFT's modules_to_save): paths of
    // whole_modules(), in their order.
    std::vector<std::string> saved = {};
    // The table of a base that is its head, too, stays that: one table is trained for both.
    Has ensure_tied = Has::no;
    std::string base = {};       // the folder of the base
    std::string base_hash = {};  // hexadecimal, of the base's weights; empty: nobody knows it

    bool operator==(const Lora&) const = default;
};

}  // namespace lockstep::model
