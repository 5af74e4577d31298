// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

std::vector<std::uint32_t> decay_lines(const ParameterTable& table, double weight_decay) {
    std::vector<std::uint32_t> words;
    const auto& all = table.all();
    const auto spared = [](const Parameter& p) { return p.decay == WeightDecay::skip; };
    if (static_cast<float>(weight_decay) == 0 || std::none_of(all.begin(), all.end(), spared))
        return words;
    words.resize(kernels::decay_words(table.flat_size()));
    for (const Parameter& parameter : all) {
        if (spared(parameter)) continue;
        const std::size_t end = parameter.offset + parameter.count;
        for (std::size_t i = parameter.offset; i < end; i += kernels::decay_line) {
            const std::size_t line = i / kernels::decay_line;
            words[line / 32] |= std::uint32_t{1} << line % 32;
        }
    }
    return words;
}

kernels::StepRules step_rules(const TrainOptions& options) {
    const kernels::AdamOptions adam = adam_options(options.optimizer);
    return {options.optimizer.gradient_clip, options.loss_scaling, adam.beta1, adam.beta2};
}

kernels::AdamOptions adam_options(const OptimizerOptions& options) {
    using Decay = kernels::AdamOptions::Decay;
    return {options.beta1, beta2_of(options), options.adam_eps, options.weight_decay,
            options.kind == OptimizerKind::adamw ? Decay::decoupled : Decay::l2};
}

// Values that ParlAI has no option for are fixed to fairseq's.
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
