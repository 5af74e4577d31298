// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/train/step/engine.hpp"

namespace lockstep::tests {

// An engine whose results are taken a step later, like those of a GPU. Its gradient is then that of
// the step queued last.
class EngineAhead final : public train::Engine {
public:
    explicit EngineAhead(train::Engine& inner) : inner_(inner) {}

    const train::ParameterTable& parameters() const noexcept override {
        return inner_.parameters();
    }
    train::RunTensors fetch() override { return inner_.fetch(); }
    train::RunTensors copy_for_save() override { return inner_.copy_for_save(); }
    train::RunTensors reserve_copy() override { return inner_.reserve_copy(); }
    void write_back() override { inner_.write_back(); }
    train::OwnedAccess* owned() noexcept override { return inner_.owned(); }
    void finish_weights() override { inner_.finish_weights(); }
    train::WeightSource& weights() override { return inner_.weights(); }
    void share_weights() override { inner_.share_weights(); }
    void share_optimizer() override { inner_.share_optimizer(); }
    void hash_weights() override { inner_.hash_weights(); }
    void check_weights_alike(std::int64_t updates) override { inner_.check_weights_alike(updates); }
    void restore(const kernels::Step& before, std::int64_t lanes) override {
        inner_.restore(before, lanes);
    }
    std::size_t steps_ahead() const noexcept override { return 1; }
    train::WeightMemory memory() const override { return inner_.memory(); }
    void queue(const kernels::StepOrder& order, const std::vector<train::Batch>& lanes) override {
        inner_.queue(order, lanes);
        results_.push_back(inner_.take_result());
    }
    train::StepResult take_result() override {
        train::StepResult result = results_.front();
        results_.pop_front();
        return result;
    }
    std::string nonfinite_gradient() override { return inner_.nonfinite_gradient(); }

private:
    train::Engine& inner_;
    std::deque<train::StepResult> results_;
};

}  // namespace lockstep::tests
