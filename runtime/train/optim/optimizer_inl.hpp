// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/adafactor_optimizer.hpp"
#include "runtime/train/optim/adam_optimizer.hpp"
#include "runtime/train/optim/coded_adam_optimizer.hpp"
#include "runtime/train/optim/lion_optimizer.hpp"
#include "runtime/train/optim/muon_optimizer.hpp"
#include "runtime/train/optim/offloaded_optimizer.hpp"
#include "runtime/train/optim/optimizer.hpp"
#include "runtime/train/optim/sgd_optimizer.hpp"
#include "runtime/train/optim/stored_optimizer.hpp"

namespace lockstep::train {

// Makes an optimizer with fp32 moments; options.kind updates elements one by one.
template <class Ctx, class T>
std::unique_ptr<ElementOptimizer<Ctx, T>> make_element_optimizer(const OptimizerOptions& options,
                                                                 ElementTarget<Ctx, T> target) {
    switch (options.kind) {
        case OptimizerKind::sgd:
            return std::make_unique<SgdOptimizer<Ctx, T>>(options, std::move(target));
        case OptimizerKind::lion:
            return std::make_unique<LionOptimizer<Ctx, T>>(options, std::move(target));
        case OptimizerKind::adam:
        case OptimizerKind::adamw:
        case OptimizerKind::adafactor:
        case OptimizerKind::muon:
            break;
    }
    return std::make_unique<AdamOptimizer<Ctx, T>>(options, std::move(target));
}

template <class Ctx, class T>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_offloaded(const OptimizerOptions& options,
                                                               const OptimizerTarget<Ctx>& target) {
    require(can_offload(options), "the host does not update with this optimizer");
    const auto make_rule = [&options]<class Host, class H>(ElementTarget<Host, H> of_host) {
        return make_element_optimizer(options, std::move(of_host));
    };
    if constexpr (std::is_base_of_v<device::CpuTraits, Ctx>) {
        if (options.offload_dir.empty())
            throw Error(ErrorKind::config,
                        "--offload optimizer is for GPUs, and this computes on the CPU; give "
                        "--offload none, or --offload-dir DIR");
        return std::make_unique<StoredOptimizer<Ctx, T>>(options, target, make_rule);
    } else {
        return std::make_unique<OffloadedOptimizer<Ctx, T>>(options, target, make_rule);
    }
}

template <class Ctx, class T>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_muon(const OptimizerOptions& options,
                                                          const OptimizerTarget<Ctx>& target) {
    if constexpr (std::is_base_of_v<device::CpuTraits, Ctx>)
        return std::make_unique<MuonOptimizer<Ctx, T>>(options, target);
    else
        throw Error(ErrorKind::config,
                    "--optimizer muon: only CPUs update with it; give --device cpu, or --optimizer "
                    "adamw");
}

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
        if (options.offload == Offload::optimizer) return make_offloaded<Ctx, T>(options, target);
        require(!store.has_offloaded_master(), "the device does not update what is offloaded");
        if (options.kind == OptimizerKind::adafactor)
            return std::make_unique<AdafactorOptimizer<Ctx, T>>(options, target);
        if (options.kind == OptimizerKind::muon) return make_muon<Ctx, T>(options, target);
        ElementTarget<Ctx, T> elements{table, context, store.packed_size(),
                                       OwnedOperands<Ctx, T>(target, options.weight_decay)};
        const bool adam =
            options.kind == OptimizerKind::adam || options.kind == OptimizerKind::adamw;
        if (adam && options.moments == Moments::int8)
            return std::make_unique<CodedAdamOptimizer<Ctx, T>>(options, std::move(elements));
        return make_element_optimizer(options, std::move(elements));
    });
}

}  // namespace lockstep::train
