// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/timed_kernels.hpp"
#include "runtime/kernels/hash.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::bench {

using namespace kernels;

namespace {

constexpr std::int64_t columns = 1024;  // width of the parameter that Adafactor updates

// Holds a flat buffer and the state that an optimizer keeps for it, before the first update.
struct Flat {
    Flat(CudaContext& ctx, std::int64_t n)
        : gradient(numbers<float>(ctx, n)),
          master(numbers<float>(ctx, n)),
          first(numbers<float>(ctx, n)),
          second(static_cast<std::size_t>(n)),
          narrow(static_cast<std::size_t>(n)),
          first_codes(static_cast<std::size_t>(n)),
          second_codes(static_cast<std::size_t>(n)),
          scales(moment_scales(static_cast<std::size_t>(n))),
          scales2(scales.size()),
          state(on_device(ctx, std::vector<StepState>{{.lr = 1e-4f, .adam_step_size = 1e-4f}})) {}

    device::Buffer<float, CudaSpace> gradient, master, first, second;
    device::Buffer<bf16, CudaSpace> narrow;
    device::Buffer<std::uint8_t, CudaSpace> first_codes, second_codes;
    device::Buffer<float, CudaSpace> scales, scales2;
    device::Buffer<StepState, CudaSpace> state;
};

void optimizers(CudaContext& ctx, KernelTable& table, const Flat& flat, std::int64_t rows) {
    const auto n = static_cast<double>(rows * columns);
    const StepState* state = flat.state.view().data();
    const auto gradient = constant(flat.gradient);
    const AdamOptions options{0.9, 0.999, 1e-8, 0.01, AdamOptions::Decay::decoupled};
    table.moves("adam", "bf16", 30 * n, [&] {
        adam<bf16>(ctx, {.options = options,
                         .state = state,
                         .gradient = gradient,
                         .master = flat.master.view(),
                         .first_moment = flat.first.view(),
                         .second_moment = flat.second.view(),
                         .compute = flat.narrow.view()});
    });
    table.moves("adam, moments in int8", "bf16", 18 * n, [&] {
        coded_adam<bf16>(ctx, {.options = options,
                               .state = state,
                               .gradient = gradient,
                               .master = flat.master.view(),
                               .first_moment = {flat.first_codes.view(), flat.scales.view()},
                               .second_moment = {flat.second_codes.view(), flat.scales2.view()},
                               .compute = flat.narrow.view()});
    });
    table.moves("sgd, with momentum", "bf16", 22 * n, [&] {
        sgd<bf16>(ctx, {.options = {0.9f, 0, SgdOptions::Kind::plain},
                        .state = state,
                        .gradient = gradient,
                        .master = flat.master.view(),
                        .momentum_buffer = flat.first.view(),
                        .compute = flat.narrow.view()});
    });
    table.moves("lion", "bf16", 22 * n, [&] {
        lion<bf16>(ctx, {.options = {0.9, 0.99, 0.01},
                         .state = state,
                         .gradient = gradient,
                         .master = flat.master.view(),
                         .moment = flat.first.view(),
                         .compute = flat.narrow.view()});
    });
}

void factored_optimizer(CudaContext& ctx, KernelTable& table, const Flat& flat, std::int64_t rows) {
    const auto n = static_cast<double>(rows * columns);
    const auto gradient = constant(flat.gradient);
    const AdafactorOptions factored{1e-30f,
                                    1e-3f,
                                    1,
                                    -0.8f,
                                    0,
                                    0,
                                    AdafactorOptions::Step::given,
                                    AdafactorOptions::Scale::parameter};
    const device::Buffer<float, CudaSpace> row(static_cast<std::size_t>(rows)), column(columns);
    table.moves("adafactor, factored", "bf16", 38 * n, [&] {
        adafactor<bf16>(ctx, {.options = factored,
                              .state = flat.state.view().data(),
                              .gradient = CudaMatrix<const float>(gradient.data(), rows, columns),
                              .master = matrix(flat.master, rows, columns),
                              .row = row.view(),
                              .column = column.view(),
                              .scratch = flat.second.view(),
                              .compute = flat.narrow.view()});
    });
}

}  // namespace

void time_flat_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const std::int64_t count = sizes.rows * columns;
    const auto n = static_cast<double>(count);
    const Flat flat(ctx, count);
    const auto gradient = constant(flat.gradient);
    table.copies("copy", 8 * n, [&] { device::copy(ctx, gradient, flat.second.view()); });
    table.moves("fill_zero", "fp32", 4 * n, [&] { fill_zero(ctx, flat.second.view()); });
    table.moves("cast to bf16", "fp32", 6 * n,
                [&] { cast<float, bf16>(ctx, gradient, flat.narrow.view()); });
    const device::Buffer<ExactSum, CudaSpace> squares(1);
    table.moves("add_sum_of_squares", "fp32", 4 * n,
                [&] { add_sum_of_squares(ctx, gradient, squares.view()); });
    const device::Buffer<std::int64_t, CudaSpace> nonfinite(1);
    table.moves("add_count_nonfinite", "fp32", 4 * n,
                [&] { add_count_nonfinite(ctx, gradient, nonfinite.view()); });
    const device::Buffer<std::uint64_t, CudaSpace> hashed(1);
    const CudaView<const std::byte> bytes(reinterpret_cast<const std::byte*>(gradient.data()),
                                          4 * gradient.size());
    table.moves("hash", "fp32", 4 * n, [&] { hash(ctx, bytes, hashed.view()); });
    optimizers(ctx, table, flat, sizes.rows);
    factored_optimizer(ctx, table, flat, sizes.rows);
}

}  // namespace lockstep::bench
