// SPDX-License-Identifier: Apache-2.0
// These tests need no results of PyTorch: dropout, batch layouts, and the calls of the gradient
// sink.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"

using namespace lockstep;
using tests::Golden;
using tests::ModelUnderTest;

namespace {

const std::vector<std::string> kinds{"aiayn_gelu_learned_smoothed", "prelayernorm_gelu_learned",
                                     "xlm_gelu_learned", "gpt2"};

// Returns the largest difference as a share of the largest value.
double difference(const std::vector<float>& a, HostView<const float> b) {
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
        largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    }
    return worst / largest;
}

std::vector<float> copy(HostView<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

// The masks are a function of (seed, step, position), so the loss with dropout is a smooth function
// of the weights, and its slope along the gradient is the gradient's squared norm.
TEST_CASE("gradients with every dropout active are the loss's slope") {
    for (const std::string& name : kinds) {
        CAPTURE(name);
        Golden golden(name);
        const auto config = tests::with_dropout(golden.config());
        REQUIRE((config.dropout > 0 && config.attention_dropout > 0 && config.relu_dropout > 0));
        ModelUnderTest test(config);
        const auto batch = golden.batch("");
        const double undropped = test.evaluate(batch).nll;
        const auto sums = test.train(batch);
        CHECK(std::abs(sums.nll - undropped) > 0.1);  // something was dropped

        const auto gradient = copy(test.store.gradient());
        const auto master = copy(test.store.master());
        for (const train::Parameter& p : test.table.all()) {
            CAPTURE(p.name);
            double square = 0;
            for (std::size_t i = p.offset; i < p.offset + p.count; ++i) {
                square += std::pow(gradient[i], 2);
            }
            // This step changes the loss by 0.02 either way: more than the rounding of fp32, too
            // little for curvature to matter.
            const auto loss_at = [&](double step) {
                for (std::size_t i = p.offset; i < p.offset + p.count; ++i) {
                    test.store.master()[i] = static_cast<float>(master[i] + step * gradient[i]);
                }
                return test.train(batch).loss;
            };
            const double step = 0.02 / square;
            const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
            loss_at(0);
            CHECK(slope == doctest::Approx(square).epsilon(0.02));
        }
    }
}

TEST_CASE("a batch is the sum of its rows, dropout and filler included") {
    for (const std::string& name : kinds) {
        CAPTURE(name);
        Golden golden(name);
        ModelUnderTest test(tests::with_dropout(golden.config()));
        const auto batch = golden.batch("");
        const auto whole = test.train(batch);
        const auto gradient = copy(test.store.gradient());

        test.zero_gradients();
        kernels::LossSums sums;
        for (std::size_t row = 0; row < batch.rows.size(); ++row) {
            sums += test.train(tests::one_row(batch, row));
        }
        CHECK(sums.loss == doctest::Approx(whole.loss).epsilon(1e-6));
        CHECK(sums.tokens == whole.tokens);
        CHECK(sums.correct == whole.correct);
        CHECK(difference(gradient, test.store.gradient()) < 1e-5);

        test.zero_gradients();
        const auto filled = test.train(tests::with_filler(batch, 5));
        CHECK(filled.loss == doctest::Approx(whole.loss).epsilon(1e-6));
        CHECK(filled.tokens == whole.tokens);
        CHECK(difference(gradient, test.store.gradient()) < 1e-5);
        CHECK(test.evaluate(tests::with_filler(batch, 5)).nll ==
              doctest::Approx(test.evaluate(batch).nll).epsilon(1e-6));
    }
}

TEST_CASE("other seeds, steps and rows drop other elements") {
    Golden golden("gpt2");
    ModelUnderTest test(tests::with_dropout(golden.config()));
    auto batch = golden.batch("");
    const double loss = test.train(batch).loss;
    CHECK(test.train(batch).loss == loss);
    test.state.step += 1;
    CHECK(test.train(batch).loss != loss);
    test.state.step -= 1;
    test.state.seed += 1;
    CHECK(test.train(batch).loss != loss);
    test.state.seed -= 1;
    for (auto& row : batch.rows) row += 1;
    CHECK(test.train(batch).loss != loss);
}

TEST_CASE("gradients add up and carry the loss seed") {
    Golden golden("aiayn_relu_sinusoidal");
    ModelUnderTest test(golden.config());
    const auto batch = golden.batch("");
    test.train(batch);
    const auto once = copy(test.store.gradient());
    test.state.loss_seed = 3;
    test.train(batch);
    auto expected = once;
    for (float& value : expected) value *= 4;
    CHECK(difference(expected, test.store.gradient()) < 1e-5);
}

TEST_CASE("gradients that are overwritten are those added to zero, whatever was there") {
    for (const std::string& name : tests::golden_cases())
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            CAPTURE(name);
            CAPTURE(train::name(precision));
            Golden golden(name);
            ModelUnderTest added(tests::with_dropout(golden.config()), precision);
            ModelUnderTest overwritten(tests::with_dropout(golden.config()), precision);
            for (const train::Batch& batch : tests::variants_of(golden.batch(""))) {
                CAPTURE(batch.labels.size());
                CAPTURE(batch.source.total());
                added.zero_gradients();
                added.train(batch);
                tests::spoil(overwritten.table, overwritten.store.gradient());
                overwritten.train(batch, kernels::Into::overwrite);
                CHECK(copy(overwritten.store.gradient()) == copy(added.store.gradient()));
                added.train(golden.batch(""));
                overwritten.train(golden.batch(""));
                CHECK(copy(overwritten.store.gradient()) == copy(added.store.gradient()));
            }
        }
}

TEST_CASE("an excluded token is as if it were not in the vocabulary") {
    Golden golden("aiayn_relu_sinusoidal");
    ModelUnderTest without(golden.config());
    auto config = golden.config();
    config.excluded_token = config.vocabulary++;  // the table's pattern goes on for one more row
    const auto batch = golden.batch("");
    for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
        ModelUnderTest with(config, precision);
        const double tolerance = precision == train::Precision::fp32 ? 1e-6 : 1e-2;
        CHECK(with.evaluate(batch).nll ==
              doctest::Approx(without.evaluate(batch).nll).epsilon(tolerance));
        CHECK(with.train(batch).loss ==
              doctest::Approx(without.train(batch).loss).epsilon(tolerance));
        const train::Parameter& table = *with.table.find("embeddings.weight");
        const auto gradient =
            HostView<const float>(with.store.gradient()).subview(table.offset, table.count);
        const auto row =
            gradient.subview(table.count - config.embedding_size, config.embedding_size);
        CHECK(std::ranges::count(row, 0.0f) == config.embedding_size);
        CHECK(std::ranges::count(gradient, 0.0f) == config.embedding_size);
    }
    config.excluded_token = -1;
    CHECK(ModelUnderTest(config).evaluate(batch).nll > without.evaluate(batch).nll * (1 + 1e-4));
}

namespace {

// Keeps the values that each range had when it was reported.
class Recorder final : public train::GradientSink {
public:
    explicit Recorder(HostView<const float> gradient) : gradient_(gradient) {}

    void ready(std::size_t first, std::size_t count) override {
        CHECK(first == held_.size());
        CHECK(count > 0);
        const auto range = gradient_.subview(first, count);
        held_.insert(held_.end(), range.begin(), range.end());
        ++ranges_;
    }

    const std::vector<float>& held() const noexcept { return held_; }
    int ranges() const noexcept { return ranges_; }

private:
    HostView<const float> gradient_;
    std::vector<float> held_;
    int ranges_ = 0;
};

}  // namespace

TEST_CASE("gradients are reported block by block, front to back, and are final then") {
    for (const std::string& name : kinds) {
        CAPTURE(name);
        Golden golden(name);
        ModelUnderTest test(tests::with_dropout(golden.config()));
        Recorder recorder(test.store.gradient());
        kernels::LossSums sums;
        const train::Batch batch = golden.batch("");
        test.model->upload(batch);
        test.model->train(&test.state, &sums, kernels::Into::overwrite, recorder);
        CHECK(recorder.held().size() == test.table.flat_size());
        CHECK(recorder.held() == copy(test.store.gradient()));
        CHECK(recorder.ranges() == test.table.all().back().block + 1);
        CHECK(test.table.all().back().name == "embeddings.weight");
    }
}

TEST_CASE("a z-loss adds a gradient in proportion to it, and changes no loss") {
    for (const std::string& name : kinds) {
        CAPTURE(name);
        Golden golden(name);
        const auto gradients = [&](float z_loss, double& loss) {
            auto config = golden.config();
            config.z_loss = z_loss;
            ModelUnderTest test(config);
            loss = test.train(golden.batch(""), kernels::Into::overwrite).loss;
            return copy(test.store.gradient());
        };
        double loss = 0, once_loss = 0, twice_loss = 0;
        const auto none = gradients(0, loss), once = gradients(0.01F, once_loss),
                   twice = gradients(0.02F, twice_loss);
        CHECK(once_loss == loss);
        CHECK(twice_loss == loss);
        double added = 0, bent = 0;
        for (std::size_t i = 0; i < none.size(); ++i) {
            added = std::max(added, std::abs(double{once[i]} - none[i]));
            bent = std::max(bent, std::abs(double{twice[i]} - 2.0 * once[i] + none[i]));
        }
        CHECK(added > 0);
        CHECK(bent < 1e-3 * added);
    }
}

TEST_CASE("a second step of the same shape takes no more memory") {
    Golden golden("prelayernorm_gelu_learned");
    ModelUnderTest test(golden.config());
    test.train(golden.batch(""));
    const std::size_t peak = test.model->peak_activation_bytes();
    CHECK(peak > 0);
    test.train(golden.batch(""));
    CHECK(test.model->peak_activation_bytes() == peak);
    const auto spans = test.model->take_spans();
    for (const auto& parts : {spans.forward, spans.backward}) {
        REQUIRE(!parts.empty());
        CHECK(parts.front().begin.value < parts.back().end.value);
    }
    CHECK(test.model->take_spans().forward.empty());
}

TEST_CASE("batches that do not fit the model are refused") {
    Golden golden("aiayn_relu_sinusoidal");
    auto config = golden.config();
    config.n_positions = 6;  // the longest source has 7 tokens
    ModelUnderTest test(config);
    auto batch = golden.batch("");
    CHECK_THROWS_WITH_AS(test.evaluate(batch), doctest::Contains("n_positions"), Error);
    batch = tests::one_row(golden.batch(""), 0);
    CHECK_NOTHROW(test.evaluate(batch));
    batch.target.tokens[1] = 37;  // one past the vocabulary
    CHECK_THROWS_AS(test.evaluate(batch), Error);
    CHECK_THROWS_AS(test.evaluate(train::Batch{}), Error);
}
