// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/train/pipeline_stage.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::train {

// The engine of a rank that has some of a model's layers. Steps are those of the rank's own
// engine, whose table has the parameters of the stage. The tensors that a caller sees are those of
// the whole model, on rank 0 alone, as if there were no stages.
class StageEngine final : public Engine {
public:
    struct Parts {
        const ParameterTable& whole;
        const std::vector<ParameterTable>& tables;  // of each stage
        PipelineStage stage;
        comm::Communicator& stages;  // those that compute the same micro-batches
        comm::DataPlace data;        // this rank's among those that read other rows
    };

    // What `parts` refers to must outlive the object.
    StageEngine(std::unique_ptr<Engine> own, const Parts& parts)
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
    // Tells whether this rank's stages send tensors to rank 0 and take them.
    bool has_rank_0() const noexcept { return parts_.data.rank == 0; }
    bool is_rank_0() const noexcept { return has_rank_0() && parts_.stage.is_first(); }
    void take_memory();
    // Moves a tensor of a stage between it and rank 0, on both of them; others do nothing.
    void give(int stage, HostView<const float> whole, HostView<float> part);
    void take(int stage, HostView<const float> part, HostView<float> whole);
    // Call move(stage, tensor of the whole model, tensor of this stage) for the tensors of all
    // stages, with an empty range where this rank does not have it.
    template <class Move>
    void by_weights(const RunTensors& own, const Move& move);
    template <class Move>
    void by_state(const RunTensors& own, const Move& move);

    std::unique_ptr<Engine> own_;
    const Parts parts_;
    bool written_ = false;  // rank 0 has weights that the others lack
    // Rank 0's whole tensors, in the places of the whole table.
    std::vector<float> weights_;
    std::vector<std::vector<float>> states_;
    std::vector<OptimizerTensor> optimizer_;
};

}  // namespace lockstep::train
