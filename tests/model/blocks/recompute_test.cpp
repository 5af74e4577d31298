// SPDX-License-Identifier: Apache-2.0
// Compares steps whose backward calculates values again with steps that keep them.
#include "model/recompute.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <utility>

#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"

using namespace lockstep;
using model::Recompute;
using model::RecomputePlan;
using tests::Golden;
using tests::ModelUnderTest;

namespace {

const std::vector<RecomputePlan> plans{
    {Recompute::ffn}, {Recompute::layer}, {Recompute::layer, 1}, {Recompute::ffn, 1}};

// Does something when forward and the loss have ended and backward begins.
class BetweenPasses final : public train::GradientSink {
public:
    explicit BetweenPasses(std::function<void()> change) : change_(std::move(change)) {}

    train::InputRows loss_done() override {
        change_();
        return {};
    }
    void ready(std::size_t, std::size_t) override {}
    bool waits_for(std::size_t) const override { return false; }

private:
    std::function<void()> change_;
};

void train_in_two(ModelUnderTest& test, const train::Batch& first, const train::Batch& second,
                  kernels::LossSums& sums) {
    tests::spoil(test.table, test.store.gradient());
    sums = test.train(first, kernels::Into::overwrite);
    sums += test.train(second, kernels::Into::add);
}

bool same_bits(HostView<const float> a, HostView<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("gradients of values that are calculated again are the same bit for bit") {
    for (const std::string& name : tests::golden_cases())
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16})
            for (const RecomputePlan& plan : plans) {
                CAPTURE(name);
                CAPTURE(train::name(precision));
                CAPTURE(model::name(plan));
                Golden golden(name);
                const auto config = tests::with_dropout(golden.config());
                ModelUnderTest kept(config, precision), again(config, precision, plan);
                const train::Batch batch = golden.batch(""), row = tests::one_row(batch, 1);
                for (const train::Batch& one : tests::variants_of(batch)) {
                    kernels::LossSums expected, sums;
                    train_in_two(kept, one, row, expected);
                    train_in_two(again, one, row, sums);
                    CHECK(sums.loss == expected.loss);
                    CHECK(same_bits(again.store.gradient(), kept.store.gradient()));
                }
            }
}

namespace {

using Change = void (*)(ModelUnderTest& test);

// Tells whether a model that calculates values again has the same gradients as one that keeps them
// if both are changed between forward and backward.
bool same_when_changed(const RecomputePlan& plan, Change change) {
    Golden golden("gpt2");
    const auto config = tests::with_dropout(golden.config());
    const train::Batch batch = golden.batch("");
    ModelUnderTest kept(config), again(config, train::Precision::fp32, plan);
    for (ModelUnderTest* test : {&kept, &again}) {
        BetweenPasses sink([&] { change(*test); });
        kernels::LossSums sums;
        test->model->upload(batch);
        test->model->train(&test->state, &sums, kernels::Into::overwrite, sink);
    }
    return same_bits(again.store.gradient(), kept.store.gradient());
}

void change_nothing(ModelUnderTest&) {}
void change_masks(ModelUnderTest& test) { ++test.state.step; }
void change_hidden_values(ModelUnderTest& test) {
    for (const train::Parameter& parameter : test.table.all())
        if (parameter.name.ends_with("ffn.lin1.bias")) test.store.master()[parameter.offset] += 1;
}

}  // namespace

// These faults are planted: the same change reaches both models' backward, but only the one that
// calculates again takes other values for those of forward.
TEST_CASE("the comparison of bits notices masks and products that are not forward's") {
    for (const RecomputePlan& plan : plans) {
        CAPTURE(model::name(plan));
        CHECK(same_when_changed(plan, change_nothing));
        CHECK_FALSE(same_when_changed(plan, change_hidden_values));
        // On the CPU every level draws the masks of hidden values again.
        CHECK(same_when_changed(plan, change_masks) == (plan.level == Recompute::ffn));
    }
}

TEST_CASE("each level keeps less than those before it") {
    for (const std::string name :
         {"gpt2", "aiayn_gelu_learned_smoothed", "prelayernorm_gelu_learned"}) {
        CAPTURE(name);
        Golden golden(name);
        const auto peak_of = [&](const RecomputePlan& plan) {
            auto config = golden.config();
            config.encoder_layers = config.encoder_layers > 0 ? 6 : 0;
            config.decoder_layers = 6;
            config.vocabulary = 40;
            ModelUnderTest test(config, train::Precision::fp32, plan);
            test.train(tests::with_filler(golden.batch(""), 900));
            return test.model->peak_activation_bytes();
        };
        const std::size_t none = peak_of({}), ffn = peak_of({Recompute::ffn}),
                          half = peak_of({Recompute::layer, 3}),
                          layer = peak_of({Recompute::layer});
        CHECK(ffn < none);
        CHECK(half < none);
        CHECK(layer < half);
        CHECK(layer < ffn);
    }
}

TEST_CASE("plans are named as users write them, and name no more layers than there are") {
    CHECK(model::name(RecomputePlan{}) == "none");
    CHECK(model::name({Recompute::ffn}) == "ffn");
    CHECK(model::name({Recompute::layer}) == "layer");
    CHECK(model::name({Recompute::layer, 3}) == "layer:3");
    model::ModelConfig config;
    config.encoder_layers = 2;
    config.decoder_layers = 5;
    CHECK_NOTHROW(model::require_layers({Recompute::layer, 5}, config));
    CHECK_NOTHROW(model::require_layers({Recompute::layer}, config));
    CHECK_THROWS_WITH_AS(model::require_layers({Recompute::layer, 6}, config),
                         "--recompute layer:6: the model has 5 layers; give layer:5, or layer for "
                         "all of them",
                         Error);
}
