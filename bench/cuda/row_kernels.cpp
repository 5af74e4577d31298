// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "bench/cuda/timed_kernels.hpp"
#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/scatter.hpp"

namespace lockstep::bench {

using namespace kernels;

namespace {

// Holds four matrices, the state of the norms, and a dropout of one tenth.
template <class T>
struct Rows {
    Rows(CudaContext& ctx, std::int64_t rows, std::int64_t d)
        : values(numbers<T>(ctx, 4 * rows * d)),
          weights(numbers<T>(ctx, 2 * d)),
          sums(numbers<float>(ctx, 2 * rows + 3 * d)),
          ids(static_cast<std::size_t>(rows)),
          positions(static_cast<std::size_t>(rows)),
          state(1),
          rows_(rows),
          d_(d) {}

    CudaMatrix<T> part(std::int64_t i) const {
        return {values.view().data() + i * rows_ * d_, rows_, d_};
    }
    CudaView<const T> weight(std::size_t i) const {
        const auto d = static_cast<std::size_t>(d_);
        return constant(weights).subview(i * d, d);
    }
    CudaView<float> row_sums(std::size_t i) const {
        const auto n = static_cast<std::size_t>(rows_);
        return sums.view().subview(i * n, n);
    }
    CudaView<float> column_sums(std::size_t i) const {
        const auto n = static_cast<std::size_t>(rows_), d = static_cast<std::size_t>(d_);
        return sums.view().subview(2 * n + i * d, d);
    }
    Dropout site() const { return {0.1f, 3, state.view().data()}; }
    TokenCoordinates<CudaSpace> coordinates() const { return {constant(ids), constant(positions)}; }

    device::Buffer<T, CudaSpace> values, weights;
    device::Buffer<float, CudaSpace> sums;
    device::Buffer<std::uint32_t, CudaSpace> ids;
    device::Buffer<std::int32_t, CudaSpace> positions;
    device::Buffer<StepState, CudaSpace> state;

private:
    std::int64_t rows_, d_;
};

template <class T>
void norms(CudaContext& ctx, KernelTable& table, const Rows<T>& x, double bytes) {
    const auto forward = [&](const Dropout& site) {
        norm_forward<T>(ctx, {.dropout = site,
                              .coordinates = x.coordinates(),
                              .x = x.part(0),
                              .branch = x.part(1),
                              .gamma = x.weight(0),
                              .beta = x.weight(1),
                              .sum = x.part(2),
                              .y = x.part(3),
                              .mean = x.row_sums(0),
                              .rstd = x.row_sums(1)});
    };
    const auto backward = [&](const Dropout& site) {
        norm_backward<T>(ctx, {.dropout = site,
                               .coordinates = x.coordinates(),
                               .dy = x.part(3),
                               .d_sum = x.part(0),
                               .sum = x.part(2),
                               .mean = x.row_sums(0),
                               .rstd = x.row_sums(1),
                               .gamma = x.weight(0),
                               .dx = x.part(0),
                               .d_branch = x.part(1),
                               .dgamma = x.column_sums(0),
                               .dbeta = x.column_sums(1),
                               .dbias = x.column_sums(2),
                               .into = Into::overwrite});
    };
    table.moves("norm_forward", type_name<T>, 4 * bytes, [&] { forward({}); });
    table.moves("norm_forward, dropout", type_name<T>, 4 * bytes, [&] { forward(x.site()); });
    table.moves("norm_backward", type_name<T>, 5 * bytes, [&] { backward({}); });
    table.moves("norm_backward, dropout", type_name<T>, 5 * bytes, [&] { backward(x.site()); });
}

template <class T>
void activations(CudaContext& ctx, KernelTable& table, const Rows<T>& x, double bytes) {
    const std::pair<const char*, Activation> functions[] = {{"gelu_tanh", Activation::gelu_tanh},
                                                            {"gelu_erf", Activation::gelu_erf}};
    for (const auto& [name, f] : functions) {
        table.moves(std::string("activation_forward, ") + name, type_name<T>, 2 * bytes,
                    [&, f = f] { activation_forward<T>(ctx, f, {}, {}, x.part(0), x.part(1)); });
        table.moves(std::string("activation_backward, ") + name, type_name<T>, 3 * bytes,
                    [&, f = f] {
                        activation_backward<T>(ctx, {.f = f,
                                                     .x = x.part(0),
                                                     .dy = x.part(1),
                                                     .dx = x.part(2),
                                                     .db = x.column_sums(0),
                                                     .into = Into::overwrite});
                    });
    }
    table.moves("relu_backward", type_name<T>, 3 * bytes, [&] {
        relu_backward<T>(ctx, {.y = x.part(0),
                               .dy = x.part(1),
                               .dx = x.part(2),
                               .db = x.column_sums(0),
                               .into = Into::overwrite});
    });
}

}  // namespace

template <class T>
void time_row_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const Rows<T> x(ctx, sizes.rows, sizes.d);
    const double bytes = static_cast<double>(sizes.rows * sizes.d) * sizeof(T);
    norms(ctx, table, x, bytes);
    activations(ctx, table, x, bytes);
    table.moves("residual_forward", type_name<T>, 3 * bytes,
                [&] { residual_forward<T>(ctx, {}, {}, x.part(0), x.part(1), x.part(2)); });
    table.moves("add", type_name<T>, 3 * bytes, [&] { add<T>(ctx, x.part(0), x.part(1)); });
    std::vector<std::int64_t> own(static_cast<std::size_t>(sizes.rows));
    std::iota(own.begin(), own.end(), 0);
    const auto rows = on_device(ctx, own);
    table.moves("scatter_rows", type_name<T>, 2 * bytes,
                [&] { scatter_rows<T>(ctx, constant(rows), x.part(0), x.part(1)); });
    table.moves("dropout", type_name<T>, 2 * bytes,
                [&] { dropout<T>(ctx, x.site(), x.coordinates(), x.part(0), x.part(1)); });
}

template void time_row_kernels<float>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_row_kernels<bf16>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_row_kernels<fp16>(CudaContext&, KernelTable&, const KernelSizes&);

}  // namespace lockstep::bench
