// SPDX-License-Identifier: Apache-2.0
// Measures the speed of each CPU kernel and the machine's ceilings: memcpy for kernels that move
// memory, the largest square matrix product for kernels that compute. bench_kernels [THREADS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/gated_activation.hpp"
#include "runtime/kernels/head_norm.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/rotary.hpp"
#include "runtime/kernels/softmax_xent.hpp"

using namespace lockstep;
using namespace lockstep::kernels;

namespace {

double best_seconds(const std::function<void()>& work) {
    double best = 1e9;
    for (int repeat = 0; repeat < 9; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        best = std::min(best, passed.count());
    }
    return best;
}

void report(const char* kernel, const char* dtype, double units, const char* unit,
            const std::function<void()>& work) {
    std::printf("%-28s %-5s %9.1f %s\n", kernel, dtype, units / best_seconds(work) * 1e-9, unit);
}

template <class T>
std::vector<T> numbers(std::int64_t count, std::uint64_t key) {
    PhiloxStream stream(key);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(static_cast<float>(stream.uniform() * 2 - 1));
    return values;
}

template <class T>
HostMatrix<T> matrix(std::vector<T>& values, std::int64_t rows, std::int64_t cols) {
    return {values.data(), rows, cols};
}

// Dropout depends on the row and position of each token.
struct Coordinates {
    explicit Coordinates(std::int64_t count)
        : rows(static_cast<std::size_t>(count), 7), positions(static_cast<std::size_t>(count)) {
        for (std::size_t i = 0; i < positions.size(); ++i)
            positions[i] = static_cast<std::int32_t>(i);
    }
    TokenCoordinates<HostSpace> view() const { return {view_of(rows), view_of(positions)}; }

    std::vector<std::uint32_t> rows;
    std::vector<std::int32_t> positions;
};

template <class T>
void products(CpuContext& ctx, const char* dtype, std::int64_t rows, std::int64_t in,
              std::int64_t out) {
    auto x = numbers<T>(rows * in, 1), w = numbers<T>(out * in, 2), y = numbers<T>(rows * out, 3);
    auto bias = numbers<T>(out, 4);
    std::vector<float> dw(static_cast<std::size_t>(out * in));
    const double flop = 2.0 * static_cast<double>(rows * in) * static_cast<double>(out);
    const auto mx = matrix(x, rows, in), mw = matrix(w, out, in), my = matrix(y, rows, out);
    std::printf("rows %lld, in %lld, out %lld\n", static_cast<long long>(rows),
                static_cast<long long>(in), static_cast<long long>(out));
    report("linear_forward", dtype, flop, "GFLOP/s",
           [&] { linear_forward<T>(ctx, mx, mw, HostView<const T>(view_of(bias)), my); });
    report("linear_backward_input", dtype, flop, "GFLOP/s",
           [&] { linear_backward_input<T>(ctx, my, mw, mx, Into::overwrite); });
    report("linear_backward_input, added", dtype, flop, "GFLOP/s",
           [&] { linear_backward_input<T>(ctx, my, mw, mx, Into::add); });
    const HostMatrix<float> mdw(dw.data(), out, in);
    report("linear_backward_weight", dtype, flop, "GFLOP/s",
           [&] { linear_backward_weight<T>(ctx, mx, my, mdw, Into::overwrite); });
    report("linear_backward_weight, added", dtype, flop, "GFLOP/s",
           [&] { linear_backward_weight<T>(ctx, mx, my, mdw, Into::add); });
    const auto bytes = static_cast<double>(rows * out) * sizeof(T);
    report("bias_backward", dtype, bytes, "GB/s", [&] {
        bias_backward<T>(ctx, my, HostView<float>(dw.data(), static_cast<std::size_t>(out)),
                         Into::overwrite);
    });
}

template <class T>
void norms(CpuContext& ctx, const char* dtype, const Dropout& site) {
    constexpr std::int64_t rows = 4096, d = 2048;
    const Coordinates coordinates(rows);
    auto x = numbers<T>(rows * d, 1), branch = numbers<T>(rows * d, 2);
    auto sum = numbers<T>(rows * d, 3), y = numbers<T>(rows * d, 4);
    auto gamma = numbers<T>(d, 5), beta = numbers<T>(d, 6);
    std::vector<float> mean(rows), rstd(rows), dgamma(d), dbeta(d), dbias(d);
    const auto mx = matrix(x, rows, d), mb = matrix(branch, rows, d), ms = matrix(sum, rows, d),
               my = matrix(y, rows, d);
    const HostView<const T> vg = view_of(gamma), vb = view_of(beta);
    const double bytes = static_cast<double>(rows * d) * sizeof(T);
    report("norm_forward", dtype, 4 * bytes, "GB/s", [&] {
        norm_forward<T>(ctx, {.dropout = site,
                              .coordinates = coordinates.view(),
                              .x = mx,
                              .branch = mb,
                              .gamma = vg,
                              .beta = vb,
                              .sum = ms,
                              .y = my,
                              .mean = view_of(mean),
                              .rstd = view_of(rstd)});
    });
    report("norm_backward", dtype, 5 * bytes, "GB/s", [&] {
        norm_backward<T>(ctx, {.dropout = site,
                               .coordinates = coordinates.view(),
                               .dy = my,
                               .d_sum = mx,
                               .sum = ms,
                               .mean = view_of(mean),
                               .rstd = view_of(rstd),
                               .gamma = vg,
                               .dx = mx,
                               .d_branch = mb,
                               .dgamma = view_of(dgamma),
                               .dbeta = view_of(dbeta),
                               .dbias = view_of(dbias),
                               .into = Into::overwrite});
    });
}

template <class T>
void activations(CpuContext& ctx, const char* dtype, const Dropout& site) {
    constexpr std::int64_t rows = 4096, d = 2048;
    const Coordinates coordinates(rows);
    auto x = numbers<T>(rows * d, 1), branch = numbers<T>(rows * d, 2), y = numbers<T>(rows * d, 4);
    std::vector<float> dbias(d);
    const auto mx = matrix(x, rows, d), mb = matrix(branch, rows, d), my = matrix(y, rows, d);
    const double bytes = static_cast<double>(rows * d) * sizeof(T);
    report("dropout", dtype, 2 * bytes, "GB/s",
           [&] { dropout<T>(ctx, site, coordinates.view(), mx, my); });
    report("gelu_tanh forward", dtype, 2 * bytes, "GB/s", [&] {
        activation_forward<T>(ctx, Activation::gelu_tanh, site, coordinates.view(), mx, my);
    });
    report("gelu_erf backward", dtype, 3 * bytes, "GB/s", [&] {
        activation_backward<T>(ctx, {.f = Activation::gelu_erf,
                                     .dropout = site,
                                     .coordinates = coordinates.view(),
                                     .x = mx,
                                     .dy = mb,
                                     .dx = my,
                                     .db = view_of(dbias),
                                     .into = Into::overwrite});
    });
    report("relu backward", dtype, 3 * bytes, "GB/s", [&] {
        relu_backward<T>(ctx, {.dropout = site,
                               .y = mx,
                               .dy = mb,
                               .dx = my,
                               .db = view_of(dbias),
                               .into = Into::overwrite});
    });
}

// The shape of Qwen3-0.6B for so many tokens.
constexpr std::int64_t qwen_rows = 1024, qwen_width = 1024, qwen_hidden = 3072;
constexpr int qwen_heads = 16, qwen_kv_heads = 8, qwen_head_dim = 128;

template <class T>
void qwen_rows_of(CpuContext& ctx, const char* dtype) {
    constexpr std::int64_t heads = std::int64_t{qwen_heads} * qwen_head_dim;
    auto x = numbers<T>(qwen_rows * 2 * qwen_hidden, 1), y = numbers<T>(qwen_rows * qwen_hidden, 2);
    auto gamma = numbers<T>(qwen_width, 3);
    std::vector<float> rstd(qwen_rows * qwen_heads), dgamma(qwen_width), frequencies(64, 0.1f);
    const Coordinates coordinates(qwen_rows);
    const HostView<const T> weights = view_of(gamma), head_weights(gamma.data(), qwen_head_dim);
    const auto mx = matrix(x, qwen_rows, qwen_width), my = matrix(y, qwen_rows, qwen_width);
    const auto hx = matrix(x, qwen_rows, heads), hy = matrix(y, qwen_rows, heads);
    const double elements = static_cast<double>(qwen_rows) * sizeof(T);
    const HostView<float> head_gradient(dgamma.data(), qwen_head_dim);
    report("rms norm", dtype, 2 * elements * qwen_width, "GB/s", [&] {
        norm_forward<T>(
            ctx,
            {.kind = NormKind::rms, .x = mx, .gamma = weights, .y = my, .rstd = view_of(rstd)});
    });
    report("rms norm backward", dtype, 3 * elements * qwen_width, "GB/s", [&] {
        norm_backward<T>(ctx, {.kind = NormKind::rms,
                               .dy = my,
                               .sum = mx,
                               .rstd = view_of(rstd),
                               .gamma = weights,
                               .dx = my,
                               .dgamma = view_of(dgamma),
                               .into = Into::overwrite});
    });
    report("head norm", dtype, 2 * elements * heads, "GB/s", [&] {
        head_norm_forward<T>(ctx, {1e-6f, qwen_head_dim, hx, head_weights, hy, view_of(rstd)});
    });
    report("head norm backward", dtype, 3 * elements * heads, "GB/s", [&] {
        head_norm_backward<T>(ctx, {qwen_head_dim, hy, hx, view_of(rstd), head_weights, hy,
                                    head_gradient, Into::overwrite});
    });
    report("rotate", dtype, 2 * elements * heads, "GB/s", [&] {
        rotate<T>(ctx, {.positions = view_of(coordinates.positions),
                        .frequencies = view_of(frequencies),
                        .head_dim = qwen_head_dim,
                        .x = hx});
    });
    const auto gated = matrix(x, qwen_rows, 2 * qwen_hidden),
               up = matrix(y, qwen_rows, qwen_hidden);
    report("gated silu", dtype, 3 * elements * qwen_hidden, "GB/s",
           [&] { gated_activation_forward<T>(ctx, Activation::silu, gated, up); });
    report("gated silu backward", dtype, 5 * elements * qwen_hidden, "GB/s", [&] {
        gated_activation_backward<T>(ctx, {Activation::silu, gated, up, gated});
    });
}

template <class T>
void qwen_attention_of(CpuContext& ctx, const char* dtype, int kv_heads, std::int32_t window) {
    constexpr std::int64_t width = std::int64_t{qwen_heads} * qwen_head_dim;
    const std::int64_t kv_width = std::int64_t{kv_heads} * qwen_head_dim;
    const AttentionShape shape{qwen_heads, qwen_head_dim, Mask::causal, kv_heads, window};
    auto q = numbers<T>(qwen_rows * width, 1), k = numbers<T>(qwen_rows * kv_width, 2);
    auto v = numbers<T>(qwen_rows * kv_width, 3), out = q, d_out = q, dq = q, dk = k, dv = k;
    std::vector<float> lse(qwen_rows * qwen_heads);
    const std::vector<std::int32_t> offsets{0, 512, 1024};
    const std::vector<std::uint32_t> rows{0, 1};
    const Sequences<HostSpace> sequences{view_of(offsets), view_of(offsets), view_of(rows)};
    const auto mq = matrix(q, qwen_rows, width), mk = matrix(k, qwen_rows, kv_width);
    const auto mv = matrix(v, qwen_rows, kv_width), mo = matrix(out, qwen_rows, width);
    std::printf("attention, %d heads of keys, window %d\n", kv_heads, window);
    const double flop = 4.0 * 512 * 512 / 2 * 2 * width;
    report("attention_forward", dtype, flop, "GFLOP/s", [&] {
        attention_forward<T>(ctx, {.shape = shape,
                                   .sequences = sequences,
                                   .q = mq,
                                   .k = mk,
                                   .v = mv,
                                   .out = mo,
                                   .log_sum_exp = view_of(lse)});
    });
    report("attention_backward", dtype, 2.5 * flop, "GFLOP/s", [&] {
        attention_backward<T>(ctx, {.shape = shape,
                                    .sequences = sequences,
                                    .q = mq,
                                    .k = mk,
                                    .v = mv,
                                    .out = mo,
                                    .log_sum_exp = view_of(lse),
                                    .d_out = matrix(d_out, qwen_rows, width),
                                    .dq = matrix(dq, qwen_rows, width),
                                    .dk = matrix(dk, qwen_rows, kv_width),
                                    .dv = matrix(dv, qwen_rows, kv_width)});
    });
    const std::vector<std::int64_t> begin{0, 512};
    const std::vector<std::int32_t> length{512, 512};
    report("attention_decode", dtype, 2.0 * qwen_rows * static_cast<double>(kv_width) * sizeof(T),
           "GB/s", [&] {
               attention_decode<T>(ctx, {.shape = shape,
                                         .begin = view_of(begin),
                                         .length = view_of(length),
                                         .q = mq.rows_from(0, 2),
                                         .k_cache = mk,
                                         .v_cache = mv,
                                         .out = mo.rows_from(0, 2)});
           });
}

template <class T>
void losses(CpuContext& ctx, const char* dtype, std::int64_t vocabulary) {
    constexpr std::int64_t rows = 512;
    auto logits = numbers<T>(rows * vocabulary, 1);
    std::vector<std::int32_t> labels(rows, 5);
    const StepState state;
    LossSums sums;
    const double bytes = static_cast<double>(rows * vocabulary) * sizeof(T);
    report("softmax_xent backward", dtype, 3 * bytes, "GB/s", [&] {
        softmax_xent_forward_backward<T>(ctx, &state, matrix(logits, rows, vocabulary),
                                         HostView<const std::int32_t>(view_of(labels)), {0.1f},
                                         &sums);
    });
}

// Moves 16 bytes an element, where adam moves 28.
void coded_adam_of(CpuContext& ctx, const AdamOptions& options, HostView<const float> gradient,
                   HostView<float> master) {
    const std::size_t n = gradient.size();
    std::vector<std::uint8_t> first(n), second(n);
    std::vector<float> first_scales(moment_scales(n)), second_scales(moment_scales(n));
    const StepState state{.lr = 1e-6f, .adam_step_size = 1e-6f};
    report("adam, moments in int8", "fp32", 4.0 * sizeof(float) * static_cast<double>(n), "GB/s",
           [&] {
               coded_adam<float>(ctx, {.options = options,
                                       .state = &state,
                                       .gradient = gradient,
                                       .master = master,
                                       .first_moment = {view_of(first), view_of(first_scales)},
                                       .second_moment = {view_of(second), view_of(second_scales)}});
           });
}

void flat(CpuContext& ctx) {
    constexpr std::int64_t n = 16 << 20;
    auto w = numbers<float>(n, 1), g = numbers<float>(n, 2), m = numbers<float>(n, 3);
    std::vector<float> v(n, 1.0f);
    std::vector<bf16> copy(n);
    const StepState state{.lr = 1e-6f, .adam_step_size = 1e-6f};
    const AdamOptions options{0.9, 0.999, 1e-8, 0.01, AdamOptions::Decay::decoupled};
    const HostView<const float> vg = view_of(g);
    const double bytes = static_cast<double>(n) * sizeof(float);
    report("memcpy", "", 2 * bytes, "GB/s", [&] { cast<float, float>(ctx, vg, view_of(v)); });
    std::fill(v.begin(), v.end(), 1.0f);
    report("adam", "fp32", 7 * bytes, "GB/s", [&] {
        adam<float>(ctx, {.options = options,
                          .state = &state,
                          .gradient = vg,
                          .master = view_of(w),
                          .first_moment = view_of(m),
                          .second_moment = view_of(v)});
    });
    report("adam", "bf16", 7.5 * bytes, "GB/s", [&] {
        adam<bf16>(ctx, {.options = options,
                         .state = &state,
                         .gradient = vg,
                         .master = view_of(w),
                         .first_moment = view_of(m),
                         .second_moment = view_of(v),
                         .compute = view_of(copy)});
    });
    coded_adam_of(ctx, options, vg, view_of(w));
    report("sum_of_squares", "fp32", bytes, "GB/s", [&] { sum_of_squares(ctx, vg); });
    report("count_nonfinite", "fp32", bytes, "GB/s", [&] { count_nonfinite(ctx, vg); });
    report("cast to bf16", "", 1.5 * bytes, "GB/s",
           [&] { cast<float, bf16>(ctx, vg, view_of(copy)); });
}

template <class T>
void all_of(CpuContext& ctx, const char* dtype) {
    products<T>(ctx, dtype, 2048, 2048, 2048);  // the ceiling
    products<T>(ctx, dtype, 1000, 512, 2048);
    products<T>(ctx, dtype, 500, 512, 11016);
    const StepState state;
    std::printf("no dropout\n");
    norms<T>(ctx, dtype, Dropout{});
    activations<T>(ctx, dtype, Dropout{});
    std::printf("dropout 0.1\n");
    norms<T>(ctx, dtype, Dropout{0.1f, 3, &state});
    activations<T>(ctx, dtype, Dropout{0.1f, 3, &state});
    qwen_rows_of<T>(ctx, dtype);
    qwen_attention_of<T>(ctx, dtype, qwen_heads, 0);
    qwen_attention_of<T>(ctx, dtype, qwen_kv_heads, 0);
    qwen_attention_of<T>(ctx, dtype, qwen_kv_heads, 128);
    losses<T>(ctx, dtype, 11016);
    losses<T>(ctx, dtype, 50304);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads =
        argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
    CpuContext ctx(std::max(threads, 1));
    flat(ctx);
    all_of<float>(ctx, "fp32");
    all_of<bf16>(ctx, "bf16");
}
