// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/train/step/engine.hpp"
#include "runtime/train/tensor_slice.hpp"

namespace lockstep::train {

// The engine of a rank that computes each layer together with others. Steps are those of the
// rank's own engine, whose table has the rank's part of each parameter. The tensors that a caller
// sees are whole ones, on rank 0 alone, as if no rank divided anything.
class TensorEngine final : public Engine {
public:
    struct Parts {
        const ParameterTable& whole;
        TensorSlice slice;
        comm::Communicator& tensor;  // among the ranks that compute together
        comm::DataPlace data;        // this rank's among those that read other rows
    };

    // What `parts` refers to must outlive the object.
    TensorEngine(std::unique_ptr<Engine> own, const Parts& parts)
        : own_(std::move(own)), parts_(parts) {}

    const ParameterTable& parameters() const noexcept override { return parts_.whole; }
    RunTensors fetch() override;
    // The call is collective.
    RunTensors copy_for_save() override;
    RunTensors reserve_copy() override { return fetch(); }
    void write_back() override { written_ = true; }
    OwnedAccess* owned() noexcept override { return nullptr; }
    void finish_weights() override { own_->finish_weights(); }
    WeightSource& weights() override { return own_->weights(); }
    void share_weights() override;
    void share_optimizer() override;
    void hash_weights() override { own_->hash_weights(); }
    void check_weights_alike(std::int64_t updates) override { own_->check_weights_alike(updates); }
    void restore(const kernels::Step& before, std::int64_t lanes) override {
        own_->restore(before, lanes);
    }
    std::size_t steps_ahead() const noexcept override { return own_->steps_ahead(); }
    void queue(const kernels::StepOrder& order, const std::vector<Batch>& lanes) override {
        own_->queue(order, lanes);
    }
    StepResult take_result() override { return own_->take_result(); }
    WeightMemory memory() const override { return own_->memory(); }
    std::string nonfinite_gradient() override;

private:
    // Tells whether this rank is of the group with rank 0, which alone sends and takes tensors.
    bool has_rank_0() const noexcept { return parts_.data.rank == 0; }
    bool is_rank_0() const noexcept { return has_rank_0() && parts_.slice.rank == 0; }
    // Names the parameter of the optimizer's tensor of this number.
    const Parameter& parameter_of(std::size_t tensor) const {
        return parts_.whole[tensor % parts_.whole.all().size()];
    }
    void take_memory();
    void spread(const Parameter& whole, HostView<const float> from, HostView<float> part);
    void gather(const Parameter& whole, HostView<const float> part, HostView<float> to);

    std::unique_ptr<Engine> own_;
    const Parts parts_;
    bool written_ = false;  // rank 0 has weights that the others lack
    // Rank 0's whole tensors, in the places of the whole table.
    std::vector<float> weights_;
    std::vector<std::vector<float>> states_;
    std::vector<OptimizerTensor> optimizer_;
};

}  // namespace lockstep::train
