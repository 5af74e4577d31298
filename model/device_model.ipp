// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "model/device_model.hpp"
#include "model/initialize.hpp"
#include "model/transformer.ipp"
#include "model/transformer_decoder.ipp"
#include "runtime/train/checkpoint_tensors.hpp"
#include "runtime/train/device_engine.hpp"

namespace lockstep::model {

template <class Ctx>
class DeviceModelOn final : public DeviceModel {
public:
    using Space = typename Ctx::Space;
    using Collectives = comm::Collectives<Space>;
    // Collectives in the device's memory among the ranks of a communicator.
    using Connect = std::function<std::unique_ptr<Collectives>(Ctx&, comm::Communicator&)>;

    // `connect` is not asked where the device's memory is the host's.
    DeviceModelOn(const ModelConfig& config, train::Precision precision, train::Master master,
                  std::unique_ptr<Ctx> context, Connect connect = {})
        : config_(config),
          table_(parameter_table(config)),
          context_(std::move(context)),
          connect_(std::move(connect)),
          store_(table_, precision, master),
          weights_(*context_, store_),
          model_(make_model<Ctx>(config, store_, *context_)),
          losses_(1) {
        clear_losses();
    }

    const train::ParameterTable& parameters() const noexcept override { return table_; }

    void initialize(std::uint64_t seed) override {
        initial_weights(config_, table_, seed, weights_.fetch());
        weights_.place();
    }
    void load_weights(const std::string& path) override {
        train::load_weights(path, table_, weights_.fetch());
        weights_.place();
    }

    void reserve(std::size_t activation_bytes) override { model_->reserve(activation_bytes); }

    void evaluate(const train::Batch& batch) override {
        kernels::Step* const losses = losses_.view().data();
        model_->evaluate(batch, &losses->batch);
        end_micro_batch(*context_, losses);
    }
    kernels::LossSums take_losses() override {
        device::Readback<kernels::Step, Ctx> readback(*context_);
        readback.send(losses_.view().data());
        const kernels::LossSums sums = readback.take().sums.losses;
        clear_losses();
        return sums;
    }
    IncrementalDecoder& decoder() override {
        if (!decoder_) decoder_ = make_decoder<Ctx>(config_, store_, *context_);
        return *decoder_;
    }

    std::unique_ptr<train::Engine> make_engine(const train::TrainOptions& options,
                                               comm::Communicator& communicator, Trace& trace,
                                               comm::Whereabouts* whereabouts) override {
        return std::make_unique<train::DeviceEngine<Ctx>>(
            options, train::EngineParts<Ctx>{*context_, communicator, collectives(communicator),
                                             trace, *model_, store_, whereabouts});
    }

private:
    void clear_losses() {
        const kernels::Step zero;
        device::copy(*context_, HostView<const kernels::Step>(&zero, 1), losses_.view());
        context_->synchronize();
    }
    Collectives& collectives(comm::Communicator& communicator) {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            return communicator;
        } else {
            collectives_ = connect_(*context_, communicator);
            return *collectives_;
        }
    }

    const ModelConfig config_;
    const train::ParameterTable table_;
    const std::unique_ptr<Ctx> context_;
    const Connect connect_;
    const train::ParameterStore<Space> store_;
    train::HostWeights<Ctx> weights_;
    const std::unique_ptr<train::Model> model_;
    const device::Buffer<kernels::Step, Space> losses_;  // one
    std::unique_ptr<IncrementalDecoder> decoder_;
    std::unique_ptr<Collectives> collectives_;
};

}  // namespace lockstep::model
