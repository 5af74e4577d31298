// SPDX-License-Identifier: Apache-2.0
#include "model/recompute.hpp"

#include "model/architectures.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::model {

std::int64_t stack_layers(const ModelConfig& config) noexcept {
    return has_encoder(config) ? std::max(config.encoder_layers, config.decoder_layers)
                               : config.decoder_layers;
}

std::string name(const RecomputePlan& plan) {
    if (plan.level < Recompute::ffn || plan.layers == 0) return "none";
    const std::string level = plan.level == Recompute::ffn ? "ffn" : "layer";
    return plan.layers == RecomputePlan::all_layers ? level
                                                    : level + ":" + std::to_string(plan.layers);
}

void require_layers(const RecomputePlan& plan, const ModelConfig& config) {
    const std::int64_t layers = stack_layers(config);
    if (plan.layers == RecomputePlan::all_layers || plan.layers <= layers) return;
    throw Error(ErrorKind::config,
                "--recompute " + name(plan) + ": the model has " + std::to_string(layers) +
                    (layers == 1 ? " layer" : " layers") +
                    "; give layer:" + std::to_string(layers) + ", or layer for all of them");
}

}  // namespace lockstep::model
