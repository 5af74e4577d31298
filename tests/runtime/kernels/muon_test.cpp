// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::MuonOptions;
using kernels::StepState;
using MuonKind = MuonOptions::Kind;
using MuonScale = MuonOptions::Scale;

namespace {

// A matrix that muon updates in two ranges, as two ranks would.
template <class T>
struct MuonMatrix {
    std::int64_t rows, cols;
    std::vector<float> w = {}, m = std::vector<float>(size());
    std::vector<T> compute = std::vector<T>(size());
    std::vector<bf16> scratch = std::vector<bf16>(kernels::muon_scratch(rows, cols));

    std::size_t size() const { return static_cast<std::size_t>(rows * cols); }
    void update(CpuContext& ctx, const MuonOptions& options, const StepState* state,
                std::vector<float> g) {
        kernels::muon_direction(
            ctx,
            {.options = options, .state = state, .gradient = view_of(g), .moment = view_of(m)});
        const std::size_t half = size() / 2;
        for (const std::size_t first : {std::size_t{0}, half}) {
            const std::size_t count = first == 0 ? half : size() - half;
            kernels::muon<T>(ctx, {.options = options,
                                   .state = state,
                                   .direction = {g.data(), rows, cols},
                                   .first = first,
                                   .master = view_of(w).subview(first, count),
                                   .compute = view_of(compute).subview(first, count),
                                   .scratch = view_of(scratch)});
        }
    }
};

std::vector<float> golden_transposed(const std::vector<float>& of) {
    std::vector<float> values;
    for (std::int64_t j = 0; j < golden_cols; ++j)
        for (std::int64_t i = 0; i < golden_rows; ++i)
            values.push_back(of[static_cast<std::size_t>(i * golden_cols + j)]);
    return values;
}

enum class MuonShape { wide, tall };

// The steps are calculated in bf16, in another order than torch's.
template <class T>
void check_muon(const MuonOptions& options, MuonShape shape, const std::array<double, 12>& golden) {
    const bool tall = shape == MuonShape::tall;
    CpuContext ctx(1);
    MuonMatrix<T> matrix{tall ? golden_cols : golden_rows, tall ? golden_rows : golden_cols};
    matrix.w = tall ? golden_transposed(golden_weight()) : golden_weight();
    run_golden_updates([&](const StepState* state, std::vector<float> g) {
        for (std::size_t i = 0; i < g.size(); i += golden_cols + 1) g[i] += 1 / golden_scale;
        matrix.update(ctx, options, state, tall ? golden_transposed(g) : g);
    });
    for (std::size_t i = 0; i < golden.size(); ++i) {
        CHECK(double{matrix.w[i]} == doctest::Approx(golden[i]).epsilon(4e-3));
        CHECK(to_double(matrix.compute[i]) == to_double(static_cast<T>(matrix.w[i])));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("muon follows torch.optim.Muon", T, float, bf16) {
    check_muon<T>({1, 0.95, 0.1, MuonKind::nesterov, MuonScale::original}, MuonShape::wide,
                  goldens::muon);
    check_muon<T>({1, 0.8, 0, MuonKind::plain, MuonScale::match_rms_adamw}, MuonShape::wide,
                  goldens::muon_plain);
    check_muon<T>({1, 0.95, 0.1, MuonKind::nesterov, MuonScale::original}, MuonShape::tall,
                  goldens::muon_tall);
}

TEST_CASE("muon brings all singular values near 1, whatever the shape, and none where all is 0") {
    const MuonOptions options{0.5, 0, 0, MuonKind::plain, MuonScale::original};
    const StepState state{.lr = 2, .gradient_scale = 1};
    CpuContext ctx(2);
    for (const auto& [rows, cols] : {std::pair{16, 48}, {48, 16}, {33, 33}, {200, 97}, {2, 300}}) {
        CAPTURE(rows);
        MuonMatrix<float> matrix{rows, cols};
        matrix.w.resize(matrix.size());
        matrix.update(ctx, options, &state, std::vector<float>(matrix.size()));
        CHECK(matrix.w == std::vector<float>(matrix.size()));
        matrix.update(ctx, options, &state, random_numbers<float>(rows * cols, 3));
        double squares = 0;
        for (const float value : matrix.w) squares += double{value} * double{value};
        const double values = std::min(rows, cols), scale = std::max(1.0, 1.0 * rows / cols);
        CHECK(squares / scale / values > 0.5);
        CHECK(squares / scale / values < 1.3);
    }
}

TEST_CASE("muon changes nothing in a step that is skipped") {
    CpuContext ctx(1);
    MuonMatrix<float> matrix{3, 4};
    matrix.w = golden_weight();
    const StepState state{.lr = 1, .gradient_scale = 1, .skip = 1};
    matrix.update(ctx, {1, 0.9, 0.1, MuonKind::plain, MuonScale::original}, &state,
                  golden_gradient(0));
    CHECK(matrix.w == golden_weight());
    CHECK(matrix.m == std::vector<float>(12));
}
