// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "model/blocks/layout.hpp"
#include "model/devices/model_store.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/sharing/host_tensors.hpp"
#include "tests/model/golden.hpp"
#include "tests/support/summed_losses.hpp"

namespace lockstep::tests {

// Returns the same model with a probability of its own at each place of dropout.
inline model::ModelConfig with_dropout(model::ModelConfig config) {
    config.dropout = 0.2f;
    config.attention_dropout = 0.3f;
    config.relu_dropout = 0.1f;
    return config;
}

// A model with the goldens' weights, and everything that it needs.
struct ModelUnderTest {
    explicit ModelUnderTest(const model::ModelConfig& config,
                            train::Precision precision = train::Precision::fp32,
                            const model::RecomputePlan& plan = {})
        : table(model::parameter_table(config)),
          store(table, precision),
          frozen(model::make_frozen_store<HostSpace>(model::frozen_table(config), precision)),
          model(model::make_model<device::CpuContext>(config, store, ctx, plan, frozen.get())) {
        set_pattern(table, store.master());
        refresh();
        if (!frozen) return;
        train::HostWeights<device::CpuContext> base(ctx, *frozen);
        set_pattern(frozen->table(), base.fetch());
        base.write_back();
    }

    // Must be called after a change of the master weights.
    void refresh() {
        if (store.precision() == train::Precision::fp32) return;
        kernels::cast<float, bf16>(ctx, store.master(), store.compute<bf16>());
    }

    void zero_gradients() { std::ranges::fill(store.gradient(), 0.0f); }

    kernels::LossSums train(const train::Batch& batch, kernels::Into into = kernels::Into::add) {
        train::NoSink sink;
        kernels::LossSums sums;
        model->upload(batch);
        model->train(&state, &sums, into, sink);
        return sums;
    }
    kernels::LossSums evaluate(const train::Batch& batch) { return evaluated(*model, batch); }

    device::CpuContext ctx{1};
    train::ParameterTable table;
    train::ParameterStore<HostSpace> store;
    std::unique_ptr<const train::ParameterStore<HostSpace>> frozen;  // null: no adapters
    std::unique_ptr<train::ForwardBackward> model;
    kernels::StepState state{.seed = 5, .step = 3};
};

}  // namespace lockstep::tests
