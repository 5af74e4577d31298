// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_division.hpp"

#include <cstdlib>
#include <string>

#include "model/parts.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::model {

namespace {

constexpr int most_ranks = 16;

// Returns why the model cannot be divided among so many ranks; empty if it can.
std::string obstacle(const ModelConfig& config, int tensor) {
    const auto counted = [](std::int64_t number, const char* what) {
        return "does not divide the model's " + std::to_string(number) + " " + what;
    };
    const Widths all = widths(config);
    if (config.lora.rank > 0 && tensor > 1) return "adapters are not divided";
    // data::BatchRules fills batches up to a multiple of it.
    if (most_ranks % tensor != 0)
        return "does not divide 16, of which a micro-batch's tokens are a multiple";
    if (all.heads % tensor != 0) return counted(all.heads, "heads");
    if (all.kv_heads % tensor != 0 && tensor % all.kv_heads != 0)
        return "neither divides the model's " + std::to_string(all.kv_heads) +
               " heads of keys and values nor is a multiple of them";
    if (config.ffn_size % tensor != 0)
        return counted(config.ffn_size, "columns of the feed-forward block (--ffn-size)");
    // Dropout draws for four columns at once.
    constexpr std::int64_t together = 4;
    if (config.relu_dropout > 0 && config.ffn_size / tensor % together != 0)
        return "leaves a rank " + std::to_string(config.ffn_size / tensor) +
               " columns of the feed-forward block, which --relu-dropout wants to be a multiple "
               "of 4";
    return "";
}

}  // namespace

int nearest_tensor(const ModelConfig& config, int tensor, int ranks) {
    int nearest = 1;
    for (int tried = 2; tried <= most_ranks; ++tried)
        if (ranks % tried == 0 && obstacle(config, tried).empty() &&
            std::abs(tried - tensor) <= std::abs(nearest - tensor))
            nearest = tried;
    return nearest;
}

void require_divisible(const ModelConfig& config, int tensor) {
    const std::string why = obstacle(config, tensor);
    if (why.empty()) return;
    // All numbers of ranks can be started.
    constexpr int any_ranks = 720'720;
    throw Error(ErrorKind::config, "--tensor " + std::to_string(tensor) + ": " + why + "; give " +
                                       std::to_string(nearest_tensor(config, tensor, any_ranks)));
}

}  // namespace lockstep::model
