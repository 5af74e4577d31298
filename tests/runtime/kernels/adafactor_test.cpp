// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AdafactorOptions;
using kernels::CpuContext;
using kernels::StepState;
using Step = AdafactorOptions::Step;
using Scale = AdafactorOptions::Scale;

namespace {

enum class SecondMoment { factored, full };

AdafactorOptions options_of(float beta1, float weight_decay, Step step, Scale scale) {
    return {1e-30f, 1e-3f, 1.0f, -0.8f, beta1, weight_decay, step, scale};
}

// A parameter and its state.
template <class T>
struct Parameter {
    Parameter(std::vector<float> weights, std::int64_t r, std::int64_t c, SecondMoment moment,
              float beta1)
        : rows(r), cols(c), w(std::move(weights)), scratch(w.size()), compute(w.size()) {
        if (moment == SecondMoment::full) {
            full.resize(w.size());
        } else {
            row.resize(static_cast<std::size_t>(r));
            column.resize(static_cast<std::size_t>(c));
        }
        if (beta1 > 0) first.resize(w.size());
    }
    void update(CpuContext& ctx, const AdafactorOptions& options, const StepState* state,
                const std::vector<float>& g) {
        kernels::adafactor<T>(ctx, {.options = options,
                                    .state = state,
                                    .gradient = HostMatrix<const float>(g.data(), rows, cols),
                                    .master = matrix_of(w, rows, cols),
                                    .row = view_of(row),
                                    .column = view_of(column),
                                    .full = view_of(full),
                                    .first_moment = view_of(first),
                                    .scratch = view_of(scratch),
                                    .compute = view_of(compute)});
    }

    std::int64_t rows, cols;
    std::vector<float> w, row, column, full, first, scratch;
    std::vector<T> compute;
};

template <class T>
void check_golden(const AdafactorOptions& options, SecondMoment moment,
                  const std::array<double, 12>& golden) {
    CpuContext ctx(1);
    Parameter<T> p(golden_weight(), golden_rows, golden_cols, moment, options.beta1);
    run_golden_updates([&](const StepState* state, const std::vector<float>& g) {
        p.update(ctx, options, state, g);
    });
    check_weights(p.w, golden, p.compute);
}

// Returns the first update, in which the averages are the squares themselves.
std::vector<double> first_update(const std::vector<float>& w, const std::vector<float>& g,
                                 std::int64_t rows, std::int64_t cols, SecondMoment moment,
                                 double lr) {
    std::vector<double> row(static_cast<std::size_t>(rows)), column(static_cast<std::size_t>(cols));
    double mean = 0;
    for (std::int64_t k = 0; k < rows * cols; ++k) {
        const double g2 = std::pow(double{g[static_cast<std::size_t>(k)]}, 2);
        row[static_cast<std::size_t>(k / cols)] += g2 / static_cast<double>(cols);
        column[static_cast<std::size_t>(k % cols)] += g2 / static_cast<double>(rows);
        mean += g2 / static_cast<double>(rows * cols);
    }
    std::vector<double> u(w.size());
    double squares = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
        const std::size_t i = k / static_cast<std::size_t>(cols);
        const std::size_t j = k % static_cast<std::size_t>(cols);
        const double g2 =
            moment == SecondMoment::full ? std::pow(double{g[k]}, 2) : row[i] * column[j] / mean;
        u[k] = double{g[k]} / std::sqrt(g2);
        squares += u[k] * u[k];
    }
    const double rms = std::sqrt(squares / static_cast<double>(w.size()));
    for (std::size_t k = 0; k < w.size(); ++k) u[k] = double{w[k]} - lr * u[k] / std::max(1.0, rms);
    return u;
}

}  // namespace

TEST_CASE_TEMPLATE("adafactor follows fairseq's", T, float, bf16) {
    check_golden<T>(options_of(0, 0, Step::given, Scale::none), SecondMoment::factored,
                    goldens::adafactor_factored);
    check_golden<T>(options_of(0.9f, 0.1f, Step::relative, Scale::parameter),
                    SecondMoment::factored, goldens::adafactor_relative);
    check_golden<T>(options_of(0, 0.1f, Step::given, Scale::parameter), SecondMoment::full,
                    goldens::adafactor_full);
}

TEST_CASE_TEMPLATE("adafactor's first update matches its formula on awkward sizes", T, float,
                   bf16) {
    struct Size {
        std::int64_t rows, cols;
    };
    constexpr Size sizes[] = {{1, 1}, {1, 4097}, {31, 33}, {32, 1000}, {1000, 32}, {4097, 3}};
    const auto options = options_of(0, 0, Step::given, Scale::none);
    const StepState state{.lr = 0.1f};
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const auto& [rows, cols] : sizes) {
            const auto moment = rows > 1 && cols > 1 ? SecondMoment::factored : SecondMoment::full;
            const auto g = random_numbers<float>(rows * cols, 2);
            Parameter<T> p(random_numbers<float>(rows * cols, 1), rows, cols, moment, 0);
            const auto expected = first_update(p.w, g, rows, cols, moment, double{state.lr});
            p.update(ctx, options, &state, g);
            for (std::size_t i = 0; i < p.w.size(); ++i) {
                REQUIRE(close(double{p.w[i]}, expected[i], Dtype::fp32, 4));
                REQUIRE(to_double(p.compute[i]) == to_double(static_cast<T>(p.w[i])));
            }
        }
    }
}

TEST_CASE("adafactor has the same bits for any number of threads") {
    const auto options = options_of(0.9f, 0.01f, Step::relative, Scale::parameter);
    const auto g = random_numbers<float>(300 * 70, 2);
    std::vector<float> first;
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        Parameter<float> p(random_numbers<float>(300 * 70, 1), 300, 70, SecondMoment::factored,
                           options.beta1);
        for (std::uint64_t t = 0; t < 3; ++t) {
            const StepState state{.updates = t};
            p.update(ctx, options, &state, g);
        }
        if (first.empty()) first = p.w;
        CHECK(p.w == first);
    }
}
