// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/adafactor_optimizer.hpp"
#include "runtime/train/optim/adam_optimizer.hpp"
#include "runtime/train/optim/coded_adam_optimizer.hpp"
#include "runtime/train/optim/lion_optimizer.hpp"
#include "runtime/train/optim/optimizer.hpp"
#include "runtime/train/optim/sgd_optimizer.hpp"

namespace lockstep::train {

template <class Ctx>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_optimizer(
    const OptimizerOptions& options, const ParameterTable& table,
    const ParameterStore<typename Ctx::Space>& store, Ctx& context) {
    using Made = std::unique_ptr<Optimizer<typename Ctx::Space>>;
    const OptimizerTarget<Ctx> target{table, store, context};
    // Weights in slots are written from the master when they are needed, not by the update.
    const bool slots = store.weight_placement().has_slots();
    const Precision written = slots ? Precision::fp32 : store.precision();
    return with_element(typename Ctx::Elements{}, written, [&]<class T>() -> Made {
        switch (options.kind) {
            case OptimizerKind::sgd:
                return std::make_unique<SgdOptimizer<Ctx, T>>(options, target);
            case OptimizerKind::adam:
            case OptimizerKind::adamw:
                if (options.moments == Moments::int8)
                    return std::make_unique<CodedAdamOptimizer<Ctx, T>>(options, target);
                return std::make_unique<AdamOptimizer<Ctx, T>>(options, target);
            case OptimizerKind::lion:
                return std::make_unique<LionOptimizer<Ctx, T>>(options, target);
            case OptimizerKind::adafactor:
                break;
        }
        return std::make_unique<AdafactorOptimizer<Ctx, T>>(options, target);
    });
}

}  // namespace lockstep::train
