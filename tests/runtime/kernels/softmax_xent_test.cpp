// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/softmax_xent.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/rows_reference.hpp"
#include "tests/support/summed_losses.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::LossSums;
using kernels::StepState;

namespace {

using Labels = std::vector<std::int32_t>;

template <class T>
LossSums forward(CpuContext& ctx, std::vector<T>& logits, const Labels& labels, float smoothing) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    const auto cols = static_cast<std::int64_t>(logits.size()) / rows;
    std::vector<LossSums> losses(labels.size(), LossSums{1, 1, 1, 1});
    kernels::softmax_xent_forward<T>(ctx, matrix_of(logits, rows, cols), view_of(labels), smoothing,
                                     losses.data());
    for (std::size_t i = 0; i < labels.size(); ++i)
        CHECK(losses[i].tokens == (labels[i] < 0 ? 0 : 1));
    return tests::summed(losses);
}

template <class T>
LossSums backward(CpuContext& ctx, const StepState& state, std::vector<T>& logits,
                  const Labels& labels, const kernels::LossTerms& terms) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    const auto cols = static_cast<std::int64_t>(logits.size()) / rows;
    LossSums sums;
    kernels::softmax_xent_forward_backward<T>(ctx, &state, matrix_of(logits, rows, cols),
                                              view_of(labels), terms, &sums);
    return sums;
}

}  // namespace

TEST_CASE_TEMPLATE("cross entropy matches hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto logits = numbers<T>({0, 0, 0, 0, 2, 0, 0, 0, 5, 5, 5, 5});
    const Labels labels{2, 0, -1};
    const LossSums sums = forward(ctx, logits, labels, 0);
    CHECK(close(sums.nll, std::log(4.0) + std::log(1 + 3 * std::exp(-2.0)), Dtype::fp32));
    CHECK(sums.loss == sums.nll);
    CHECK(sums.tokens == 2);
    CHECK(sums.correct == 1);  // in the first row, index 0 wins the tie
    backward(ctx, StepState{.loss_seed = 8}, logits, labels, {});
    const Row expected{2, 2, -6, 2};
    for (std::size_t j = 0; j < 4; ++j)
        CHECK(close(to_double(logits[j]), expected[j], dtype_of<T>));
    for (std::size_t j = 8; j < 12; ++j) CHECK(to_double(logits[j]) == 0.0);
}

TEST_CASE_TEMPLATE("cross entropy and its gradient match the reference", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t vocabulary : {1, 31, 32, 33, 1000, 4097, 11016}) {
            for (const float smoothing : {0.0f, 0.1f}) {
                auto logits = random_numbers<T>(3 * vocabulary, 1, 8);
                const auto last = static_cast<std::int32_t>(vocabulary - 1);
                const Labels labels{last / 2, -1, last};
                const Row x = to_doubles(logits);
                const StepState state{.loss_seed = 4};
                const LossSums alone = forward(ctx, logits, labels, smoothing);
                const LossSums sums = backward(ctx, state, logits, labels, {smoothing});
                CHECK(alone.loss == sums.loss);
                double loss = 0, nll = 0;
                for (const std::int64_t i : {0, 2}) {
                    Row row(x.begin() + i * vocabulary, x.begin() + (i + 1) * vocabulary);
                    const auto label =
                        static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
                    const double smooth = double{smoothing};
                    const LossReference expected = cross_entropy_reference(row, label, smooth);
                    loss += expected.loss;
                    nll += expected.nll;
                    const std::int64_t step = std::max<std::int64_t>(1, vocabulary / 29);
                    for (std::int64_t j = 0; j < vocabulary; j += step) {
                        const double slope = central_difference(
                            row[static_cast<std::size_t>(j)],
                            [&] { return cross_entropy_reference(row, label, smooth).loss; });
                        const T actual = logits[static_cast<std::size_t>(i * vocabulary + j)];
                        REQUIRE(close(to_double(actual), 4 * slope, dtype_of<T>));
                    }
                }
                CHECK(close(sums.loss, loss, Dtype::fp32, 4, 8));
                CHECK(close(sums.nll, nll, Dtype::fp32, 4, 8));
            }
        }
    }
}

TEST_CASE_TEMPLATE("the gradient with a z-loss is PyTorch's, and the loss does not count it", T,
                   float, bf16) {
    CpuContext ctx(1);
    for (const auto& of : parse_json(read_json_text("tests/golden/z_loss.json"))) {
        std::vector<T> logits;
        for (const double x : of.at("logits")) logits.push_back(T(static_cast<float>(x)));
        const auto labels = of.at("labels").get<Labels>();
        const kernels::LossTerms terms{of.at("smoothing").get<float>(), of.at("z").get<float>()};
        auto without = logits;
        const LossSums sums = backward(ctx, StepState{.loss_seed = 2}, logits, labels, terms);
        const LossSums plain = backward(ctx, StepState{.loss_seed = 2}, without, labels,
                                        {.label_smoothing = terms.label_smoothing});
        CHECK(sums.loss == plain.loss);
        CHECK(sums.nll == plain.nll);
        // A logit is rounded to 9 bits in bf16, and so is the gradient.
        const double share = std::is_same_v<T, float> ? 1e-5 : 0.05;
        CHECK(sums.loss == doctest::Approx(of.at("cross_entropy").get<double>()).epsilon(share));
        for (std::size_t j = 0; j < logits.size(); ++j)
            CHECK(to_double(logits[j]) ==
                  doctest::Approx(2 * of.at("gradients").at(j).get<double>())
                      .epsilon(share)
                      .scale(std::is_same_v<T, float> ? 0.1 : 1));
        if (terms.z_loss > 0) continue;
        for (std::size_t j = 0; j < logits.size(); ++j)
            CHECK(to_double(logits[j]) == to_double(without[j]));
    }
}

TEST_CASE("cross entropy of large logits is finite, of infinite ones as softmax says") {
    CpuContext ctx(1);
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> logits{1e30f, 0, -1e30f, -infinity, 1, 1};
    const LossSums sums = forward(ctx, logits, {0, 1}, 0);
    CHECK(close(sums.nll, std::log(2.0), Dtype::fp32));
    CHECK(sums.correct == 2);
    backward(ctx, StepState{}, logits, {0, 1}, {});
    CHECK(logits == std::vector<float>{0, 0, 0, 0, -0.5f, 0.5f});
    std::vector<float> broken{0, std::nanf(""), 0};
    CHECK(std::isnan(forward(ctx, broken, {0}, 0).nll));
}

// Rows are read in pieces. The first one's logits are far below the last one's, or impossible.
TEST_CASE_TEMPLATE("cross entropy of a long row that rises or falls is that of its formula", T,
                   float, bf16) {
    CpuContext ctx(1);
    constexpr std::int64_t n = 4100;
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double low : {-3.0, -200.0, -infinity})
        for (const bool rising : {true, false}) {
            CAPTURE(low);
            CAPTURE(rising);
            Row x(n);
            for (std::int64_t j = 0; j < n; ++j) x[j] = (j >= 2048) == rising ? 0 : low;
            const std::int32_t label = rising ? 4099 : 3;
            x[label] = 2;
            std::vector<T> logits;
            for (const double v : x) logits.push_back(T(static_cast<float>(v)));
            double total = 0;
            for (const double v : x) total += std::exp(v);
            const Labels labels{label};
            const LossSums alone = forward(ctx, logits, labels, 0);
            CHECK(alone.nll == doctest::Approx(std::log(total) - 2));
            CHECK(alone.correct == 1);
            const LossSums sums = backward(ctx, StepState{.loss_seed = 1}, logits, labels, {});
            CHECK(sums.nll == doctest::Approx(alone.nll));
            CHECK(sums.correct == 1);
            for (const std::int64_t j : {std::int64_t{0}, std::int64_t{2047}, n - 2}) {
                const double p = std::exp(x[j]) / total;
                CHECK(close(to_double(logits[j]), p, dtype_of<T>));
            }
        }
}

TEST_CASE("the loss of many rows has the same bits for any number of threads") {
    CpuContext one(1), two(2);
    auto logits = random_numbers<float>(500 * 101, 3, 5);
    Labels labels(500);
    for (std::size_t i = 0; i < 500; ++i) labels[i] = static_cast<std::int32_t>(i % 102) - 1;
    const LossSums a = forward(one, logits, labels, 0.1f), b = forward(two, logits, labels, 0.1f);
    CHECK(a.loss == b.loss);
    CHECK(a.nll == b.nll);
    CHECK(a.correct == b.correct);
    CHECK_THROWS_AS(forward(one, logits, Labels(500, 101), 0.1f), Error);
}

TEST_CASE("a row's log-probabilities match the reference, impossible tokens too") {
    constexpr float impossible = -std::numeric_limits<float>::infinity();
    for (const std::int64_t size : {1, 15, 64, 2048, 2049, 5001}) {
        std::vector<float> row = random_numbers<float>(size, 1, 20);
        if (size > 1) row[size / 2] = impossible;
        double sum = 0;
        for (const float x : row) sum += std::exp(double{x});
        std::vector<float> expected;
        for (const float x : row) expected.push_back(static_cast<float>(x - std::log(sum)));
        kernels::log_softmax(view_of(row));
        for (std::int64_t j = 0; j < size; ++j) {
            if (expected[j] == impossible)
                CHECK(row[j] == impossible);
            else
                CHECK(std::abs(row[j] - expected[j]) < 5e-6);
        }
    }
    std::vector<float> nothing(3, impossible);
    kernels::log_softmax(view_of(nothing));
    CHECK(nothing == std::vector<float>(3, impossible));
}
