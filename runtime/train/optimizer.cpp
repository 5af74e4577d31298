// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {

std::vector<DecayRange> decay_ranges(const ParameterTable& table, double weight_decay) {
    std::vector<DecayRange> ranges;
    for (const Parameter& parameter : table.all()) {
        const float decay =
            parameter.decay == WeightDecay::apply ? static_cast<float>(weight_decay) : 0.0F;
        if (ranges.empty() || ranges.back().weight_decay != decay)
            ranges.push_back({parameter.offset, 0, decay});
        ranges.back().count = parameter.offset + parameter.count - ranges.back().first;
    }
    return ranges;
}

kernels::AdamOptions adam_options(const OptimizerOptions& options) {
    using Decay = kernels::AdamOptions::Decay;
    return {static_cast<float>(options.beta1), static_cast<float>(options.beta2),
            static_cast<float>(options.adam_eps), 0,
            options.kind == OptimizerKind::adamw ? Decay::decoupled : Decay::l2};
}

// Fixed where ParlAI has no option: fairseq's own values.
kernels::AdafactorOptions adafactor_options(const OptimizerOptions& options) {
    constexpr float clip_threshold = 1.0F, decay_rate = -0.8F;
    using Kernel = kernels::AdafactorOptions;
    return {static_cast<float>(options.adafactor_eps1),
            static_cast<float>(options.adafactor_eps2),
            clip_threshold,
            decay_rate,
            static_cast<float>(options.beta1),
            0,
            options.adafactor_relative_step ? Kernel::Step::relative : Kernel::Step::given,
            options.adafactor_scale_parameter ? Kernel::Scale::parameter : Kernel::Scale::none};
}

}  // namespace lockstep::train
