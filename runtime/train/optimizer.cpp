// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optimizer.hpp"

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

void append_tensors(std::vector<OptimizerTensor>& tensors, const ParameterTable& table,
                    HostView<float> flat, const std::string& suffix) {
    for (const Parameter& parameter : table.all())
        tensors.push_back({parameter.name + suffix, parameter.shape,
                           flat.subview(parameter.offset, parameter.count)});
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const ParameterTable& table,
                                          const ParameterStore<HostSpace>& store,
                                          device::CpuContext& context) {
    const OptimizerTarget target{table, store, context};
    switch (options.kind) {
        case OptimizerKind::sgd:
            return make_sgd(options, target);
        case OptimizerKind::adam:
        case OptimizerKind::adamw:
            return make_adam(options, target);
        case OptimizerKind::adafactor:
            break;
    }
    return make_adafactor(options, target);
}

}  // namespace lockstep::train
