// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/timed_kernels.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/linear_activation.hpp"

namespace lockstep::bench {

using namespace kernels;

namespace {

double operations_of(std::int64_t rows, std::int64_t in, std::int64_t out) {
    return 2.0 * static_cast<double>(rows * in) * static_cast<double>(out);
}

template <class T>
void largest(CudaContext& ctx, KernelTable& table, std::int64_t size) {
    const auto a = numbers<T>(ctx, size * size), b = numbers<T>(ctx, size * size);
    const auto c = numbers<T>(ctx, size * size);
    table.multiplies("product of " + std::to_string(size), type_name<T>,
                     operations_of(size, size, size), [&] {
                         linear_forward<T>(ctx, matrix(a, size, size), matrix(b, size, size), {},
                                           matrix(c, size, size));
                     });
}

template <class T>
void linear(CudaContext& ctx, KernelTable& table, std::int64_t rows, std::int64_t in,
            std::int64_t out) {
    const char* type = type_name<T>;
    const auto x = numbers<T>(ctx, rows * in), w = numbers<T>(ctx, out * in);
    const auto y = numbers<T>(ctx, rows * out), bias = numbers<T>(ctx, out);
    const auto dw = numbers<float>(ctx, out * in);
    const auto mx = matrix(x, rows, in), mw = matrix(w, out, in), my = matrix(y, rows, out);
    const double operations = operations_of(rows, in, out);
    const std::string size = " " + std::to_string(in) + " -> " + std::to_string(out);
    table.computes("linear_forward" + size, type, operations,
                   [&] { linear_forward<T>(ctx, mx, mw, constant(bias), my); });
    table.computes("linear_backward_input" + size, type, operations,
                   [&] { linear_backward_input<T>(ctx, my, mw, mx, Into::overwrite); });
    table.computes("linear_backward_weight" + size, type, operations, [&] {
        linear_backward_weight<T>(ctx, mx, my, matrix(dw, out, in), Into::overwrite);
    });
    table.moves("bias_backward" + size, type, static_cast<double>(rows * out) * sizeof(T), [&] {
        bias_backward<T>(ctx, my, dw.view().subview(0, static_cast<std::size_t>(out)),
                         Into::overwrite);
    });
}

// Measures the gain of a fused epilogue: times both variants, whichever one the context would
// choose.
template <class T>
void activations(CudaContext& ctx, KernelTable& table, std::int64_t rows, std::int64_t in,
                 std::int64_t out) {
    const auto x = numbers<T>(ctx, rows * in), w = numbers<T>(ctx, out * in);
    const auto hidden = numbers<T>(ctx, rows * out), y = numbers<T>(ctx, rows * out);
    const auto bias = numbers<T>(ctx, out);
    const auto db = numbers<float>(ctx, out);
    const double operations = operations_of(rows, in, out);
    const ActivationSite<CudaSpace> site{Activation::gelu_tanh, {}, {}};
    auto& fusion = ctx.cached<cuda::ProductSettings>().fusion;
    const cuda::Fusion before = fusion;
    for (const cuda::Fusion now : {cuda::Fusion::never, cuda::Fusion::always}) {
        fusion = now;
        const std::string how = now == cuda::Fusion::always ? ", fused" : ", not fused";
        table.computes("linear_activation_forward" + how, type_name<T>, operations, [&] {
            linear_activation_forward<T>(ctx, {.x = matrix(x, rows, in),
                                               .w = matrix(w, out, in),
                                               .bias = constant(bias),
                                               .site = site,
                                               .hidden = matrix(hidden, rows, out),
                                               .y = matrix(y, rows, out)});
        });
        table.computes("linear_activation_backward" + how, type_name<T>, operations, [&] {
            linear_activation_backward<T>(ctx, {.dz = matrix(x, rows, in),
                                                .w = matrix(w, in, out),
                                                .site = site,
                                                .hidden = matrix(hidden, rows, out),
                                                .y = matrix(hidden, rows, out),
                                                .d_hidden = matrix(y, rows, out),
                                                .db = db.view(),
                                                .into = Into::overwrite});
        });
    }
    fusion = before;
}

}  // namespace

template <class T>
void time_products(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const std::int64_t d = sizes.d;
    largest<T>(ctx, table, std::min<std::int64_t>(8192, sizes.rows));
    linear<T>(ctx, table, sizes.rows, d, 3 * d);
    linear<T>(ctx, table, sizes.rows, d, 4 * d);
    linear<T>(ctx, table, sizes.rows, 4 * d, d);
    linear<T>(ctx, table, sizes.logit_rows(), d, sizes.vocabulary);
    activations<T>(ctx, table, sizes.rows, d, 4 * d);
}

template void time_products<float>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_products<bf16>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_products<fp16>(CudaContext&, KernelTable&, const KernelSizes&);

}  // namespace lockstep::bench
