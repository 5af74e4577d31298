// SPDX-License-Identifier: Apache-2.0
// How fast each CUDA kernel is, as a share of the GPU's own ceilings in the same run: a copy for
// those that move memory, the largest square product for those that compute. A table in Markdown.
// bench_cuda_kernels [ROWS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/device/cuda_context.hpp"
#include "runtime/kernels/cuda/product.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/softmax_xent.hpp"

using namespace lockstep;
using namespace lockstep::kernels;

namespace {

constexpr int warm_up_runs = 3, timed_runs = 20;

// Of one run, on the GPU's clock.
double seconds_of(CudaContext& ctx, const std::function<void()>& work) {
    const device::Event begin = device::make_event(device::Timing::on);
    const device::Event end = device::make_event(device::Timing::on);
    for (int i = 0; i < warm_up_runs; ++i) work();
    device::check(cudaEventRecord(begin.raw(), ctx.stream()), "cudaEventRecord");
    for (int i = 0; i < timed_runs; ++i) work();
    device::check(cudaEventRecord(end.raw(), ctx.stream()), "cudaEventRecord");
    device::check(cudaEventSynchronize(end.raw()), "cudaEventSynchronize");
    float milliseconds = 0;
    device::check(cudaEventElapsedTime(&milliseconds, begin.raw(), end.raw()),
                  "cudaEventElapsedTime");
    return double{milliseconds} * 1e-3 / timed_runs;
}

// Bytes or floating-point operations of one run, against the ceiling of its kind.
struct Ceiling {
    const char* unit;
    double scale;
    double per_second = 0;
};

class Table {
public:
    explicit Table(CudaContext& ctx) : ctx_(ctx) {
        std::puts("| kernel | type | rate | share of ceiling |\n| --- | --- | --- | --- |");
    }

    void set_ceiling(Ceiling& ceiling, const std::string& name, const char* type, double units,
                     const std::function<void()>& work) {
        ceiling.per_second = units / seconds_of(ctx_, work);
        print(ceiling, name, type, ceiling.per_second);
    }
    void moves(const std::string& name, const char* type, double bytes,
               const std::function<void()>& work) {
        print(copy, name, type, bytes / seconds_of(ctx_, work));
    }
    void computes(const std::string& name, const char* type, double operations,
                  const std::function<void()>& work) {
        print(product, name, type, operations / seconds_of(ctx_, work));
    }

    Ceiling copy{"GB/s", 1e-9}, product{"TFLOP/s", 1e-12};

private:
    static void print(const Ceiling& ceiling, const std::string& name, const char* type,
                      double per_second) {
        std::printf("| %s | %s | %.1f %s | %.0f %% |\n", name.c_str(), type,
                    per_second * ceiling.scale, ceiling.unit,
                    100 * per_second / ceiling.per_second);
        std::fflush(stdout);
    }

    CudaContext& ctx_;
};

template <class T>
device::Buffer<T, CudaSpace> numbers(CudaContext& ctx, std::int64_t count) {
    // The same few values again and again: what is computed does not matter, that it is finite
    // does.
    std::vector<T> values(static_cast<std::size_t>(count));
    PhiloxStream stream(1);
    std::vector<T> few(4099);
    for (T& value : few) value = static_cast<T>(static_cast<float>(stream.uniform() - 0.5));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = few[i % few.size()];
    device::Buffer<T, CudaSpace> buffer(values.size());
    device::copy(ctx, HostView<const T>(view_of(values)), buffer.view());
    ctx.synchronize();
    return buffer;
}

template <class T>
CudaMatrix<T> matrix(const device::Buffer<T, CudaSpace>& buffer, std::int64_t rows,
                     std::int64_t cols) {
    return {buffer.view().data(), rows, cols};
}

template <class T>
CudaView<const T> constant(const device::Buffer<T, CudaSpace>& buffer) {
    return buffer.view();
}

template <class T>
void ceiling_of_products(CudaContext& ctx, Table& table, const char* type, std::int64_t size) {
    const auto a = numbers<T>(ctx, size * size), b = numbers<T>(ctx, size * size);
    const auto c = numbers<T>(ctx, size * size);
    const double operations = 2.0 * static_cast<double>(size * size) * static_cast<double>(size);
    const std::string name = "product of " + std::to_string(size);
    table.set_ceiling(table.product, name, type, operations, [&] {
        linear_forward<T>(ctx, matrix(a, size, size), matrix(b, size, size), {},
                          matrix(c, size, size));
    });
}

template <class T>
void linear(CudaContext& ctx, Table& table, const char* type, std::int64_t rows, std::int64_t in,
            std::int64_t out) {
    const auto x = numbers<T>(ctx, rows * in), w = numbers<T>(ctx, out * in);
    const auto y = numbers<T>(ctx, rows * out), bias = numbers<T>(ctx, out);
    const auto dw = numbers<float>(ctx, out * in);
    const auto mx = matrix(x, rows, in), mw = matrix(w, out, in), my = matrix(y, rows, out);
    const double operations = 2.0 * static_cast<double>(rows * in) * static_cast<double>(out);
    const std::string size = " " + std::to_string(in) + " -> " + std::to_string(out);
    table.computes("linear_forward" + size, type, operations,
                   [&] { linear_forward<T>(ctx, mx, mw, constant(bias), my); });
    table.computes("linear_backward_input" + size, type, operations,
                   [&] { linear_backward_input<T>(ctx, my, mw, mx); });
    table.computes("add_linear_backward_weight" + size, type, operations,
                   [&] { add_linear_backward_weight<T>(ctx, mx, my, matrix(dw, out, in)); });
    table.moves("add_bias_backward" + size, type, static_cast<double>(rows * out) * sizeof(T), [&] {
        add_bias_backward<T>(ctx, my, dw.view().subview(0, static_cast<std::size_t>(out)));
    });
}

// What a fused epilogue is worth: both ways, whatever the context would choose.
template <class T>
void activations(CudaContext& ctx, Table& table, const char* type, std::int64_t rows,
                 std::int64_t in, std::int64_t out) {
    const auto x = numbers<T>(ctx, rows * in), w = numbers<T>(ctx, out * in);
    const auto hidden = numbers<T>(ctx, rows * out), y = numbers<T>(ctx, rows * out);
    const auto bias = numbers<T>(ctx, out);
    const double operations = 2.0 * static_cast<double>(rows * in) * static_cast<double>(out);
    const ActivationSite<CudaSpace> site{Activation::gelu_tanh, {}, {}};
    auto& fusion = ctx.cached<cuda::ProductSettings>().fusion;
    const cuda::Fusion before = fusion;
    for (const bool fused : {false, true}) {
        fusion = fused ? cuda::Fusion::always : cuda::Fusion::never;
        const std::string how = fused ? ", fused" : ", not fused";
        table.computes("linear_activation_forward" + how, type, operations, [&] {
            linear_activation_forward<T>(ctx, matrix(x, rows, in), matrix(w, out, in),
                                         constant(bias), site, matrix(hidden, rows, out),
                                         matrix(y, rows, out));
        });
        table.computes("linear_activation_backward" + how, type, operations, [&] {
            linear_activation_backward<T>(ctx, matrix(x, rows, in), matrix(w, in, out), site,
                                          matrix(hidden, rows, out), matrix(hidden, rows, out),
                                          matrix(y, rows, out));
        });
    }
    fusion = before;
}

template <class T>
void rows_of_width(CudaContext& ctx, Table& table, const char* type, std::int64_t rows,
                   std::int64_t d) {
    const auto x = numbers<T>(ctx, rows * d), branch = numbers<T>(ctx, rows * d);
    const auto sum = numbers<T>(ctx, rows * d), y = numbers<T>(ctx, rows * d);
    const auto gamma = numbers<T>(ctx, d), beta = numbers<T>(ctx, d);
    const auto mean = numbers<float>(ctx, rows), rstd = numbers<float>(ctx, rows);
    const auto dgamma = numbers<float>(ctx, d), dbeta = numbers<float>(ctx, d);
    const auto mx = matrix(x, rows, d), mb = matrix(branch, rows, d), ms = matrix(sum, rows, d),
               my = matrix(y, rows, d);
    const double bytes = static_cast<double>(rows * d) * sizeof(T);
    table.moves("norm_forward", type, 4 * bytes, [&] {
        norm_forward<T>(ctx, {}, {}, mx, mb, constant(gamma), constant(beta), ms, my, mean.view(),
                        rstd.view());
    });
    table.moves("norm_backward", type, 5 * bytes, [&] {
        norm_backward<T>(ctx, {}, {}, my, mx, ms, constant(mean), constant(rstd), constant(gamma),
                         mx, mb, dgamma.view(), dbeta.view());
    });
    table.moves("gelu_tanh forward", type, 2 * bytes,
                [&] { activation_forward<T>(ctx, Activation::gelu_tanh, {}, {}, mx, my); });
    table.moves("gelu_tanh backward", type, 3 * bytes,
                [&] { activation_backward<T>(ctx, Activation::gelu_tanh, {}, {}, mx, mb, my); });
    table.moves("add", type, 3 * bytes, [&] { add<T>(ctx, mx, my); });
}

template <class T>
void loss(CudaContext& ctx, Table& table, const char* type, std::int64_t rows,
          std::int64_t vocabulary) {
    const auto logits = numbers<T>(ctx, rows * vocabulary);
    const device::Buffer<std::int32_t, CudaSpace> labels(static_cast<std::size_t>(rows));
    const device::Buffer<LossSums, CudaSpace> sums(1);
    const device::Buffer<StepState, CudaSpace> state(1);
    table.moves("softmax_xent_forward_backward", type,
                3 * static_cast<double>(rows * vocabulary) * sizeof(T), [&] {
                    softmax_xent_forward_backward<T>(ctx, state.view().data(),
                                                     matrix(logits, rows, vocabulary),
                                                     constant(labels), 0.1f, sums.view().data());
                });
}

void flat(CudaContext& ctx, Table& table, std::int64_t n) {
    const auto g = numbers<float>(ctx, n), w = numbers<float>(ctx, n), m = numbers<float>(ctx, n);
    const auto v = numbers<float>(ctx, n);
    const device::Buffer<bf16, CudaSpace> narrow(static_cast<std::size_t>(n));
    const device::Buffer<double, CudaSpace> total(1);
    const device::Buffer<StepState, CudaSpace> state(1);
    const double bytes = 4 * static_cast<double>(n);
    table.set_ceiling(table.copy, "copy", "", 2 * bytes,
                      [&] { device::copy(ctx, constant(g), v.view()); });
    const AdamOptions options{0.9, 0.999, 1e-8, 0.01, AdamOptions::Decay::decoupled};
    table.moves("adam", "bf16", 7.5 * bytes, [&] {
        adam<bf16>(ctx, options, state.view().data(), constant(g), w.view(), m.view(), v.view(), {},
                   narrow.view());
    });
    table.moves("add_sum_of_squares", "fp32", bytes,
                [&] { add_sum_of_squares(ctx, constant(g), total.view()); });
    table.moves("cast to bf16", "", 1.5 * bytes,
                [&] { cast<float, bf16>(ctx, constant(g), narrow.view()); });
}

template <class T>
void all_of(CudaContext& ctx, Table& table, const char* type, std::int64_t rows) {
    constexpr std::int64_t d = 768, vocabulary = 50304;  // GPT-2's, rounded up
    ceiling_of_products<T>(ctx, table, type, std::min<std::int64_t>(8192, rows));
    linear<T>(ctx, table, type, rows, d, 3 * d);
    linear<T>(ctx, table, type, rows, d, 4 * d);
    linear<T>(ctx, table, type, rows, 4 * d, d);
    linear<T>(ctx, table, type, std::max<std::int64_t>(1, rows / 16), d, vocabulary);
    activations<T>(ctx, table, type, rows, d, 4 * d);
    rows_of_width<T>(ctx, table, type, rows, d);
    loss<T>(ctx, table, type, std::max<std::int64_t>(1, rows / 16), vocabulary);
}

int run(int argc, char** argv) {
    if (device::visible_gpus() == 0)
        throw Error(ErrorKind::config, "no GPU is visible: run it where nvidia-smi shows one");
    const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 65536;
    if (rows < 1) throw Error(ErrorKind::config, "ROWS is at least 1");
    CudaContext ctx(0);
    ctx.cached<cuda::ProductSettings>().autotune = true;
    Table table(ctx);
    flat(ctx, table, rows * 1024);
    all_of<bf16>(ctx, table, "bf16", rows);
    all_of<fp16>(ctx, table, "fp16", rows);
    all_of<float>(ctx, table, "fp32", rows);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "bench_cuda_kernels: " << e.what() << std::endl;
        return 2;
    }
}
