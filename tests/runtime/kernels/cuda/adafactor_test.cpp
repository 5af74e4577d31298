// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/cuda/against_cpu.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AdafactorOptions;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::StepState;
using Step = AdafactorOptions::Step;
using Scale = AdafactorOptions::Scale;

namespace {

enum class SecondMoment { factored, full };

AdafactorOptions options_of(float beta1, float weight_decay, Step step, Scale scale) {
    return {1e-30f, 1e-3f, 1.0f, -0.8f, beta1, weight_decay, step, scale};
}

std::vector<float> zeros(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count));
}

// A parameter and its state on the GPU.
template <class T>
struct Parameter {
    Parameter(CudaContext& context, const std::vector<float>& weights, std::int64_t r,
              std::int64_t c, SecondMoment moment, float beta1)
        : ctx(context),
          rows(r),
          cols(c),
          w(ctx, weights),
          row(ctx, zeros(moment == SecondMoment::full ? 0 : r)),
          column(ctx, zeros(moment == SecondMoment::full ? 0 : c)),
          full(ctx, zeros(moment == SecondMoment::full ? r * c : 0)),
          first(ctx, zeros(beta1 > 0 ? r * c : 0)),
          scratch(ctx, unwritten<float>(r * c)),
          compute(ctx, unwritten<T>(r * c)) {}

    void update(const AdafactorOptions& options, const StepState& host,
                const std::vector<float>& g) {
        const OnDevice<StepState> state(ctx, {host});
        const OnDevice gradient(ctx, g);
        kernels::adafactor<T>(ctx, {.options = options,
                                    .state = state.data(),
                                    .gradient = gradient.matrix(rows, cols),
                                    .master = w.matrix(rows, cols),
                                    .row = row.view(),
                                    .column = column.view(),
                                    .full = full.view(),
                                    .first_moment = first.view(),
                                    .scratch = scratch.view(),
                                    .compute = compute.view()});
        ctx.synchronize();
    }

    CudaContext& ctx;
    std::int64_t rows, cols;
    OnDevice<float> w, row, column, full, first, scratch;
    OnDevice<T> compute;
};

template <class T>
void check_golden(const AdafactorOptions& options, SecondMoment moment,
                  const std::array<double, 12>& golden) {
    CudaContext ctx(0);
    Parameter<T> p(ctx, golden_weight(), golden_rows, golden_cols, moment, options.beta1);
    run_golden_updates(
        [&](const StepState* state, const std::vector<float>& g) { p.update(options, *state, g); });
    check_weights(p.w.values(), golden, p.compute.values());
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's adafactor follows fairseq's", T, float, bf16, fp16) {
    check_golden<T>(options_of(0, 0, Step::given, Scale::none), SecondMoment::factored,
                    goldens::adafactor_factored);
    check_golden<T>(options_of(0.9f, 0.1f, Step::relative, Scale::parameter),
                    SecondMoment::factored, goldens::adafactor_relative);
    check_golden<T>(options_of(0, 0.1f, Step::given, Scale::parameter), SecondMoment::full,
                    goldens::adafactor_full);
}

TEST_CASE_TEMPLATE("CUDA's adafactor is the CPU's on awkward sizes", T, float, bf16, fp16) {
    struct Size {
        std::int64_t rows, cols;
    };
    const auto options = options_of(0.9f, 0.01f, Step::given, Scale::parameter);
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const auto& [rows, cols] :
         {Size{1, 1}, {1, 4097}, {1, 20001}, {2, 2}, {31, 33}, {32, 1000}, {1000, 32}, {4097, 3}}) {
        const bool factored = rows > 1 && cols > 1;
        auto w = random_numbers<float>(rows * cols, 1);
        Parameter<T> p(ctx, w, rows, cols, factored ? SecondMoment::factored : SecondMoment::full,
                       options.beta1);
        auto row = zeros(factored ? rows : 0), column = zeros(factored ? cols : 0);
        auto full = zeros(factored ? 0 : rows * cols), first = zeros(rows * cols), scratch = first;
        for (std::uint64_t t = 0; t < 3; ++t) {
            const StepState state{.updates = t, .lr = 0.1f, .gradient_scale = 0.5f};
            const auto g = random_numbers<float>(rows * cols, 10 + t);
            p.update(options, state, g);
            kernels::adafactor<float>(cpu,
                                      {.options = options,
                                       .state = &state,
                                       .gradient = HostMatrix<const float>(g.data(), rows, cols),
                                       .master = matrix_of(w, rows, cols),
                                       .row = view_of(row),
                                       .column = view_of(column),
                                       .full = view_of(full),
                                       .first_moment = view_of(first),
                                       .scratch = view_of(scratch)});
        }
        require_close(p.w.values(), w, 16);
        require_close(p.compute.values(), widened(p.w.values()));
    }
}

TEST_CASE_TEMPLATE("CUDA's adafactor without a master, and told to change nothing", T, float, bf16,
                   fp16) {
    CudaContext ctx(0);
    const auto options = options_of(0, 0, Step::given, Scale::parameter);
    const OnDevice<float> gradient(ctx, {1, 1, 1, 1}), row(ctx, {0, 0}), column(ctx, {0, 0});
    const OnDevice<float> scratch(ctx, {0, 0, 0, 0});
    const OnDevice weights(ctx, numbers<T>({2, 2, 2, 2}));
    const auto update = [&](std::uint32_t skip) {
        const OnDevice<StepState> state(ctx, {StepState{.lr = 0.25f, .skip = skip}});
        kernels::adafactor<T>(ctx, {.options = options,
                                    .state = state.data(),
                                    .gradient = gradient.matrix(2, 2),
                                    .row = row.view(),
                                    .column = column.view(),
                                    .scratch = scratch.view(),
                                    .compute = weights.view()});
        ctx.synchronize();
    };
    update(1);
    CHECK(to_doubles(weights.values()) == std::vector<double>{2, 2, 2, 2});
    CHECK(row.values() == std::vector<float>{0, 0});
    update(0);  // lr * rms(w) times an update of ones
    CHECK(to_doubles(weights.values()) == std::vector<double>{1.5, 1.5, 1.5, 1.5});
}
