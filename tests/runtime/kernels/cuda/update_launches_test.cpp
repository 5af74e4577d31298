// SPDX-License-Identifier: Apache-2.0
// Counts the kernels of an update, which must not depend on the number of parameters.
#include <doctest/doctest.h>

#include "runtime/kernels/reduce.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using cuda_emulation::DeviceWork;
using cuda_emulation::given_by;
using kernels::AdafactorOptions;
using kernels::CudaContext;
using kernels::StepState;

namespace {

// The size of a flat buffer that has many parts of a sum; every fifth word of lines decays
// differently.
constexpr std::int64_t elements = 100003;

DeviceWork of_adafactor(CudaContext& ctx, std::int64_t rows, std::int64_t cols,
                        AdafactorOptions::Scale scale) {
    const auto n = rows * cols;
    const bool factored = rows > 1;
    const OnDevice<StepState> state(ctx, {StepState{.lr = 0.1f}});
    const OnDevice gradient(ctx, random_numbers<float>(n, 1)), w(ctx, random_numbers<float>(n, 2));
    const auto zeros = [&](bool there, std::int64_t count) {
        return OnDevice(ctx, std::vector<float>(there ? static_cast<std::size_t>(count) : 0));
    };
    const auto row = zeros(factored, rows), column = zeros(factored, cols);
    const auto full = zeros(!factored, n), scratch = zeros(true, n);
    const AdafactorOptions options{1e-30f, 1e-3f, 1, -0.8f, 0, 0, AdafactorOptions::Step::given,
                                   scale};
    const auto update = [&] {
        kernels::adafactor<float>(ctx, {.options = options,
                                        .state = state.data(),
                                        .gradient = gradient.matrix(rows, cols),
                                        .master = w.matrix(rows, cols),
                                        .row = row.view(),
                                        .column = column.view(),
                                        .full = full.view(),
                                        .scratch = scratch.view()});
    };
    kernels::reserve_adafactor(ctx);
    kernels::reserve_sums(ctx, static_cast<std::size_t>(n));
    if (factored) update();  // the sums of its columns take memory
    const DeviceWork work = given_by(update);
    CHECK(work.calls.count("cudaMalloc") == 0);
    ctx.synchronize();
    return work;
}

}  // namespace

TEST_CASE("adam, sgd, lion, a cast and a sum of squares are one kernel each for a whole buffer") {
    CudaContext ctx(0);
    const OnDevice<StepState> state(ctx, {StepState{.lr = 0.1f, .adam_step_size = 0.1f}});
    const OnDevice gradient(ctx, random_numbers<float>(elements, 1));
    const OnDevice w(ctx, random_numbers<float>(elements, 2));
    const OnDevice m(ctx, std::vector<float>(elements)), v(ctx, std::vector<float>(elements));
    const OnDevice narrow(ctx, unwritten<bf16>(elements));
    const OnDevice lines(ctx, awkward_decays(elements));
    const OnDevice<kernels::ExactSum> total(ctx, std::vector<kernels::ExactSum>(1));
    const auto work_of = [&](const std::function<void()>& body) {
        body();  // allocates memory
        const DeviceWork work = given_by(body);
        ctx.synchronize();
        return work;
    };
    const DeviceWork adam = work_of([&] {
        kernels::adam<bf16>(
            ctx, {.options = {0.9, 0.98, 1e-6, 0.01, kernels::AdamOptions::Decay::decoupled},
                  .state = state.data(),
                  .gradient = gradient.view(),
                  .master = w.view(),
                  .first_moment = m.view(),
                  .second_moment = v.view(),
                  .compute = narrow.view(),
                  .decays = lines.const_view()});
    });
    CHECK(adam.launches("adam/flat_kernel") == 1);
    CHECK(adam.pieces() == 1);
    const DeviceWork sgd = work_of([&] {
        kernels::sgd<bf16>(ctx, {.options = {0.9f, 0.01f, kernels::SgdOptions::Kind::plain},
                                 .state = state.data(),
                                 .gradient = gradient.view(),
                                 .master = w.view(),
                                 .momentum_buffer = m.view(),
                                 .compute = narrow.view(),
                                 .decays = lines.const_view()});
    });
    CHECK(sgd.pieces() == 1);
    const DeviceWork lion = work_of([&] {
        kernels::lion<bf16>(ctx, {.options = {0.9, 0.99, 0.01},
                                  .state = state.data(),
                                  .gradient = gradient.view(),
                                  .master = w.view(),
                                  .moment = m.view(),
                                  .compute = narrow.view(),
                                  .decays = lines.const_view()});
    });
    CHECK(lion.launches("lion/flat_kernel") == 1);
    CHECK(lion.pieces() == 1);
    const DeviceWork cast =
        work_of([&] { kernels::cast<bf16, float>(ctx, narrow.const_view(), gradient.view()); });
    CHECK(cast.pieces() == 1);
    const DeviceWork sum =
        work_of([&] { kernels::add_sum_of_squares(ctx, gradient.const_view(), total.view()); });
    CHECK(sum.pieces() == 1);
}

TEST_CASE("a sum of squares takes no memory where it was reserved") {
    CudaContext ctx(0);
    const OnDevice gradient(ctx, random_numbers<float>(elements, 1));
    const OnDevice<kernels::ExactSum> total(ctx, std::vector<kernels::ExactSum>(1));
    kernels::reserve_sums(ctx, elements);
    const DeviceWork sum =
        given_by([&] { kernels::add_sum_of_squares(ctx, gradient.const_view(), total.view()); });
    CHECK(sum.calls == std::map<std::string, std::int64_t>{{"cudaLaunchKernelEx", 1}});
    CHECK(total.values()[0].value() > 0);
}

TEST_CASE("adafactor is one kernel for a small vector and eight for a matrix") {
    CudaContext ctx(0);
    using Scale = AdafactorOptions::Scale;
    for (const Scale scale : {Scale::none, Scale::parameter}) {
        const std::int64_t scaled = scale == Scale::parameter ? 1 : 0;
        CHECK(of_adafactor(ctx, 1, 768, scale).pieces() == 1);
        CHECK(of_adafactor(ctx, 1, 20001, scale).pieces() == 3 + scaled);
        CHECK(of_adafactor(ctx, 300, 100, scale).pieces() == 8 + scaled);
    }
}
