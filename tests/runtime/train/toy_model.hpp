// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/core/philox.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::tests {

// A model that predicts the next token from the current one: logits = dropout(table[token]) + sum
// over the blocks k of (k + 1) * bias[k]. The table is the last block, like a tied one.
class ToyModel : public train::ForwardBackward {
public:
    static constexpr std::int64_t vocabulary = 11;
    static constexpr int bias_blocks = 4;

    struct Options {
        float dropout = 0;
    };

    static train::ParameterTable make_table();
    ToyModel(const train::ParameterTable& table, const train::ParameterStore<HostSpace>& store,
             Options options)
        : table_(table), store_(store), options_(options) {}

    const train::ParameterTable& parameters() const noexcept override { return table_; }
    void initialize(std::uint64_t seed);
    void reserve(std::size_t) override {}
    train::UploadedShape upload(const train::Batch& batch) override {
        batch_ = &batch;
        return {};
    }
    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override;
    using train::ForwardBackward::evaluate;
    void evaluate(const train::Batch& batch, kernels::LossSums* losses,
                  train::WeightSource& weights) override;
    // The spans are a quarter and half a second.
    train::ModelSpans take_spans() override {
        return {{{{0}, {250'000'000}}}, {{{0}, {500'000'000}}}};
    }
    std::size_t peak_activation_bytes() const noexcept override { return 0; }

private:
    struct Token;
    static std::vector<Token> tokens_of(const train::Batch& batch);
    kernels::LossSums forward(const train::Batch& batch, const kernels::StepState* state,
                              std::vector<double>& slopes) const;
    // Needs all weights, in forward's order, and keeps a copy of them.
    void read(train::WeightSource& weights);
    double weight(std::size_t element) const { return static_cast<double>(read_[element]); }
    bool dropped(const Token& token, std::int64_t column, const kernels::StepState* state) const;

    const train::ParameterTable& table_;
    const train::ParameterStore<HostSpace>& store_;
    Options options_;
    const train::Batch* batch_ = nullptr;
    std::vector<float> read_;  // the weights that the model computes with
};

}  // namespace lockstep::tests
