// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

namespace {

bool spared(const Parameter& parameter) { return parameter.decay == WeightDecay::skip; }

std::vector<std::uint32_t> decay_lines(const ParameterTable& table, const OwnedPart& part) {
    std::vector<std::uint32_t> words(kernels::decay_words(part.count));
    for (const Parameter& parameter : table.all()) {
        if (spared(parameter)) continue;
        const std::size_t first = std::max(parameter.offset, part.first);
        const std::size_t end =
            std::min(parameter.offset + parameter.count, part.first + part.count);
        for (std::size_t i = first; i < end; i += kernels::decay_line) {
            const std::size_t line = (i - part.first) / kernels::decay_line;
            words[line / 32] |= std::uint32_t{1} << line % 32;
        }
    }
    return words;
}

}  // namespace

std::size_t decay_line_words(const ParameterTable& table, double weight_decay,
                             const std::vector<OwnedPart>& owned) {
    if (static_cast<float>(weight_decay) == 0 || std::ranges::none_of(table.all(), spared))
        return 0;
    std::size_t words = 0;
    for (const OwnedPart& part : owned) words += kernels::decay_words(part.count);
    return words;
}

std::vector<std::uint32_t> decay_lines(const ParameterTable& table, double weight_decay,
                                       const std::vector<OwnedPart>& owned) {
    std::vector<std::uint32_t> words;
    if (decay_line_words(table, weight_decay, owned) == 0) return words;
    for (const OwnedPart& part : owned) {
        const std::vector<std::uint32_t> more = decay_lines(table, part);
        words.insert(words.end(), more.begin(), more.end());
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
            options.kind == OptimizerKind::adam ? Decay::l2 : Decay::decoupled};
}

kernels::MuonOptions muon_options(const OptimizerOptions& options) {
    using Muon = kernels::MuonOptions;
    const double lr = options.learningrate;
    return {lr > 0 ? options.muon_learningrate / lr : 0, options.muon_momentum,
            options.weight_decay, options.nesterov ? Muon::Kind::nesterov : Muon::Kind::plain,
            options.muon_scale == MuonScale::original ? Muon::Scale::original
                                                      : Muon::Scale::match_rms_adamw};
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
