// SPDX-License-Identifier: Apache-2.0
// The kernels have their own tests. These tests check which values reach them for which parameter.
#include "runtime/train/optim/optimizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"

using namespace lockstep;
using train::OptimizerKind;
using train::OptimizerOptions;
using train::Precision;

namespace {

constexpr OptimizerKind every_kind[] = {OptimizerKind::sgd,   OptimizerKind::adam,
                                        OptimizerKind::adamw, OptimizerKind::adafactor,
                                        OptimizerKind::lion,  OptimizerKind::muon};
constexpr double weight = 2, gradient = 4, scale = 0.25, lr = 0.1;

// Two weights that decay, with a bias between them that does not.
struct Bench {
    train::ParameterTable table;
    std::unique_ptr<train::ParameterStore<HostSpace>> store;
    device::CpuContext context{1};
    std::unique_ptr<train::Optimizer<HostSpace>> optimizer;
    kernels::StepState state;

    explicit Bench(const OptimizerOptions& options, Precision precision = Precision::fp32,
                   train::Hidden hidden = train::Hidden::no) {
        table.add({.name = "a", .shape = {3, 5}, .hidden = hidden});
        table.add("bias", {7}, 0, train::WeightDecay::skip);
        table.add("b", {33}, 1, train::WeightDecay::apply);
        store = std::make_unique<train::ParameterStore<HostSpace>>(table, precision);
        for (const auto& p : table.all())
            for (std::size_t i = 0; i < p.count; ++i) {
                store->master()[p.offset + i] = static_cast<float>(weight);
                store->gradient()[p.offset + i] = static_cast<float>(gradient);
            }
        optimizer = train::make_optimizer<device::CpuContext>(options, table, *store, context);
        state.lr = static_cast<float>(lr);
        state.gradient_scale = static_cast<float>(scale);
    }

    void update() {
        state = tests::for_adam(0.9, 0.999, state);  // the options' defaults
        optimizer->prepare(&state);
        optimizer->update(&state);
        ++state.updates;
    }
    void check(const char* name, double expected) const {
        const auto& p = *table.find(name);
        CAPTURE(name);
        for (std::size_t i = 0; i < p.count; ++i)
            CHECK(store->master()[p.offset + i] == doctest::Approx(expected).epsilon(1e-6));
    }
    std::vector<std::string> state_names() const {
        std::vector<std::string> names;
        for (const auto& tensor : optimizer->state()) names.push_back(tensor.name);
        return names;
    }
    void check_gaps() const {
        std::size_t end = 0;
        for (const auto& p : table.all()) {
            for (; end < p.offset; ++end) CHECK(store->master()[end] == 0);
            end = p.offset + p.count;
        }
    }
};

OptimizerOptions options_of(OptimizerKind kind, double weight_decay) {
    OptimizerOptions options;
    options.kind = kind;
    options.weight_decay = weight_decay;
    return options;
}

}  // namespace

TEST_CASE("sgd: scaled gradient, decay where it applies, momentum from the second update on") {
    auto options = options_of(OptimizerKind::sgd, 0.5);
    options.momentum = 0.9;
    options.nesterov = false;
    Bench bench(options);
    bench.update();
    const double g_bias = gradient * scale, g_weight = g_bias + 0.5 * weight;
    bench.check("bias", weight - lr * g_bias);
    bench.check("a", weight - lr * g_weight);
    bench.check("b", weight - lr * g_weight);
    bench.update();
    bench.check("bias", weight - lr * g_bias - lr * (0.9 * g_bias + g_bias));
    bench.check_gaps();
    CHECK(bench.state_names() == std::vector<std::string>{"a.momentum_buffer",
                                                          "bias.momentum_buffer",
                                                          "b.momentum_buffer"});
    const auto& tensor = bench.optimizer->state()[0];
    CHECK(tensor.shape == std::vector<std::int64_t>{3, 5});
    CHECK(tensor.values.size() == 15);
    CHECK(Bench(options_of(OptimizerKind::sgd, 0)).state_names().empty());
}

TEST_CASE("adam's first update has length lr; adamw shrinks the weight beside it") {
    Bench adam(options_of(OptimizerKind::adam, 0));
    adam.update();
    for (const char* name : {"a", "bias", "b"}) adam.check(name, weight - lr);
    Bench adamw(options_of(OptimizerKind::adamw, 0.5));
    adamw.update();
    adamw.check("a", weight * (1 - lr * 0.5) - lr);
    adamw.check("bias", weight - lr);
    adamw.check_gaps();
    CHECK(adam.optimizer->state()[0].values[0] == doctest::Approx(0.1 * gradient * scale));
    // 1 - beta2 is calculated in double and rounded once, as torch does: 1 - 0.999f is less.
    const auto& second_moment = adam.optimizer->state()[3];
    REQUIRE(second_moment.name == "a.exp_avg_sq");
    REQUIRE(gradient * scale == 1);
    CHECK(second_moment.values[0] == static_cast<float>(1 - 0.999));

    auto options = options_of(OptimizerKind::adam, 0);
    options.amsgrad = true;
    CHECK(Bench(options).state_names().back() == "b.max_exp_avg_sq");
    CHECK(Bench(options).state_names().size() == 9);
}

TEST_CASE("adam with moments in int8 steps alike, and each parameter has scales of its own") {
    auto options = options_of(OptimizerKind::adamw, 0.5);
    options.moments = train::Moments::int8;
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        Bench bench(options, precision);
        bench.update();
        bench.check("a", weight * (1 - lr * 0.5) - lr);
        bench.check("bias", weight - lr);
        bench.check_gaps();
        CHECK(bench.state_names() == std::vector<std::string>{"a.exp_avg", "bias.exp_avg",
                                                              "b.exp_avg", "a.exp_avg_sq",
                                                              "bias.exp_avg_sq", "b.exp_avg_sq"});
        const auto& first = bench.optimizer->state()[0];
        CHECK(first.shape == std::vector<std::int64_t>{3, 5});
        CHECK(first.codes.size() == 15);
        CHECK(first.values.size() == 1);
        CHECK(first.values[0] == doctest::Approx(0.1 * gradient * scale));
        for (const std::uint8_t code : first.codes) CHECK(code == 255);
        // A gradient that is larger in one parameter changes no scale of another one.
        bench.store->gradient()[bench.table.find("bias")->offset] = 1000;
        bench.update();
        CHECK(first.values[0] < 1);
        CHECK(bench.optimizer->state()[1].values[0] > 20);
        bench.check("b", (weight * (1 - lr * 0.5) - lr) * (1 - lr * 0.5) - lr);
    }
    options.amsgrad = true;
    CHECK_THROWS_AS(Bench{options}, Error);
}

TEST_CASE("lion's steps have the length lr; it decays beside them and has betas of its own") {
    Bench bench(options_of(OptimizerKind::lion, 0.5));
    bench.update();
    bench.check("a", weight * (1 - lr * 0.5) - lr);
    bench.check("b", weight * (1 - lr * 0.5) - lr);
    bench.check("bias", weight - lr);
    bench.check_gaps();
    CHECK(bench.state_names() ==
          std::vector<std::string>{"a.exp_avg", "bias.exp_avg", "b.exp_avg"});
    const auto moment = [](const Bench& of) { return of.optimizer->state()[0].values[0]; };
    CHECK(moment(bench) == doctest::Approx((1 - 0.99) * gradient * scale));

    // The moment has 0.01 of the first gradient: 0.9 of it outweighs 0.1 of a smaller opposite one.
    const auto second = [](float opposite) {
        Bench next(options_of(OptimizerKind::lion, 0));
        next.update();
        for (float& g : next.store->gradient()) g *= -opposite;
        next.update();
        return next.store->master()[0];
    };
    CHECK(second(0.08f) == doctest::Approx(weight - 2 * lr));
    CHECK(second(0.1f) == doctest::Approx(weight));

    auto options = options_of(OptimizerKind::lion, 0);
    options.beta2 = 0.75;
    Bench given(options);
    given.update();
    CHECK(moment(given) == doctest::Approx(0.25 * gradient * scale));
}

TEST_CASE("muon updates matrices of hidden layers, and adamw the rest with its own rate") {
    auto options = options_of(OptimizerKind::muon, 0.5);
    options.learningrate = lr;
    options.muon_learningrate = 2 * lr;
    options.beta2 = 0.999;
    Bench none(options);
    none.update();
    none.check("a", weight * (1 - lr * 0.5) - lr);
    none.check("bias", weight - lr);
    // A matrix of one value has the singular vectors of ones, whose product muon brings near 1.
    Bench hidden(options, Precision::fp32, train::Hidden::yes);
    hidden.update();
    const double step = (weight * (1 - 2 * lr * 0.5) - double{hidden.store->master()[0]}) / 2 / lr;
    CHECK(step * std::sqrt(3 * 5) > 0.6);
    CHECK(step * std::sqrt(3 * 5) < 1.25);
    hidden.check("a", weight * (1 - 2 * lr * 0.5) - 2 * lr * step);
    hidden.check("bias", weight - lr);
    hidden.check_gaps();
    const auto& moment = hidden.optimizer->state()[0];
    REQUIRE(moment.name == "a.momentum_buffer");
    CHECK(moment.values[0] == doctest::Approx(0.05 * gradient * scale));
    for (const float value : hidden.optimizer->state()[3].values) CHECK(value == 0);
}

TEST_CASE("adafactor factors matrices only") {
    auto options = options_of(OptimizerKind::adafactor, 0);
    options.beta1 = 0;
    Bench bench(options);
    CHECK(bench.state_names() == std::vector<std::string>{"a.exp_avg_sq_row", "a.exp_avg_sq_col",
                                                          "bias.exp_avg_sq", "b.exp_avg_sq"});
    bench.update();
    // The first second moment is the squared gradient itself, so the update has rms 1.
    for (const char* name : {"a", "bias", "b"}) bench.check(name, weight - lr);
    options.adafactor_scale_parameter = true;
    Bench scaled(options);
    scaled.update();
    for (const char* name : {"a", "bias", "b"}) scaled.check(name, weight - lr * weight);
    options.beta1 = 0.9;
    CHECK(Bench(options).state_names().size() == 7);
}

TEST_CASE("an update that is skipped changes nothing") {
    for (const auto kind : every_kind) {
        auto options = options_of(kind, 0.01);
        options.momentum = 0.9;
        Bench bench(options, Precision::fp32, train::Hidden::yes);
        const auto values = [&] {
            std::vector<float> all(bench.store->master().begin(), bench.store->master().end());
            for (const auto& tensor : bench.optimizer->state())
                all.insert(all.end(), tensor.values.begin(), tensor.values.end());
            return all;
        };
        bench.update();
        const auto before = values();
        bench.state.skip = 1;
        bench.update();
        CHECK(values() == before);
        bench.state.skip = 0;
        bench.update();
        CHECK(values() != before);
    }
}

TEST_CASE("an optimizer that is given another's state and weights continues bit for bit") {
    for (const auto kind : every_kind) {
        auto options = options_of(kind, 0.01);
        options.momentum = 0.9;
        Bench first(options, Precision::fp32, train::Hidden::yes),
            second(options, Precision::fp32, train::Hidden::yes);
        const auto change_gradients = [](Bench& bench) {
            for (float& g : bench.store->gradient()) g *= -0.08f;
        };
        first.update();
        change_gradients(first);
        std::ranges::copy(first.store->gradient(), second.store->gradient().begin());
        std::ranges::copy(first.store->master(), second.store->master().begin());
        const auto &from = first.optimizer->state(), &to = second.optimizer->state();
        REQUIRE(!from.empty());
        for (std::size_t i = 0; i < from.size(); ++i)
            std::ranges::copy(from[i].values, to[i].values.begin());
        second.state = first.state;
        for (Bench* bench : {&first, &second}) {
            bench->update();
            bench->update();
        }
        CHECK(std::ranges::equal(first.store->master(), second.store->master()));
        for (std::size_t i = 0; i < from.size(); ++i)
            CHECK(std::ranges::equal(from[i].values, to[i].values));
    }
}

TEST_CASE("every optimizer writes the copy that computes") {
    for (const auto kind : every_kind) {
        Bench bench(options_of(kind, 0.01), Precision::bf16, train::Hidden::yes);
        bench.update();
        const auto copy = bench.store->compute<bf16>();
        for (const auto& p : bench.table.all())
            for (std::size_t i = 0; i < p.count; ++i) {
                const float master = bench.store->master()[p.offset + i];
                CHECK(master < static_cast<float>(weight));
                CHECK(copy[p.offset + i].bits == bf16(master).bits);
            }
    }
}
