// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/attention.hpp"
#include "tests/support/reference/attention_reference.hpp"

// These functions compare the CPU's attention with its formula in fp64.
namespace lockstep::tests {

constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();
constexpr int filler = 3;  // rows past the last sequence

template <class T>
double tolerance() {
    return std::is_same_v<T, float> ? 2e-6 : 1.0 / 128;
}

inline std::vector<double> random_values(std::int64_t count, std::uint64_t key) {
    PhiloxStream random(key);
    std::vector<double> x(count);
    // These values are exact in bf16, so that only the arithmetic differs from the reference.
    for (double& v : x) v = (static_cast<int>(random.below(65)) - 32) / 16.0;
    return x;
}

inline AttentionInput make_input(kernels::AttentionShape shape, const std::vector<int>& q_lengths,
                                 const std::vector<int>& k_lengths) {
    AttentionInput in;
    in.shape = shape;
    in.q_offsets = in.k_offsets = {0};
    for (std::size_t s = 0; s < q_lengths.size(); ++s) {
        in.q_offsets.push_back(in.q_offsets.back() + q_lengths[s]);
        in.k_offsets.push_back(in.k_offsets.back() + k_lengths[s]);
        in.rows.push_back(static_cast<std::uint32_t>(1000 + 7 * s));
    }
    in.q = random_values(std::int64_t{in.q_offsets.back()} * in.width(), 1);
    in.k = random_values(std::int64_t{in.k_offsets.back()} * in.kv_width(), 2);
    in.v = random_values(std::int64_t{in.k_offsets.back()} * in.kv_width(), 3);
    return in;
}

// A packed [rows + filler, 3 * width] matrix with columns `part`, as one product for q, k and v
// makes it.
template <class T>
struct Packed {
    std::vector<T> memory;
    std::int64_t rows, width;

    Packed(std::int64_t real, std::int64_t w)
        : memory((real + filler) * 3 * w, T(unwritten)), rows(real + filler), width(w) {}
    HostMatrix<T> part(int i) { return {memory.data() + i * width, rows, width, 3 * width}; }
    void set(int i, const std::vector<double>& x) {
        for (std::size_t e = 0; e < x.size(); ++e) {
            part(i).data[e / width * 3 * width + e % width] = T(static_cast<float>(x[e]));
        }
    }
    double at(int i, std::int64_t e) {
        return static_cast<float>(part(i).data[e / width * 3 * width + e % width]);
    }
};

template <class T>
void compare(Packed<T>& actual, int part, const std::vector<double>& expected, double slack = 1) {
    double largest = 0, worst = 0, tail = 0;
    for (std::size_t e = 0; e < expected.size(); ++e) {
        largest = std::max(largest, std::abs(expected[e]));
        const double difference = std::abs(actual.at(part, e) - expected[e]);
        worst = difference <= worst ? worst : difference;  // a NaN wins
    }
    for (std::int64_t e = expected.size(); e < actual.rows * actual.width; ++e) {
        tail += actual.at(part, e) == 0 ? 0 : 1;
    }
    CHECK(worst <= slack * tolerance<T>() * std::max(largest, 1e-3));
    CHECK(tail == 0);
}

template <class T>
struct Outputs {
    Packed<T> out, gradients_q, gradients_k;
};

// Divides the biases of q, k and v, which are one after another. There may be none.
inline kernels::AttentionBiases<HostSpace> bias_parts(const AttentionInput& in,
                                                      HostView<float> biases) {
    if (biases.empty()) return {};
    const auto width = static_cast<std::size_t>(in.width());
    const auto kv_width = static_cast<std::size_t>(in.kv_width());
    return {biases.subview(0, width), biases.subview(width, kv_width),
            biases.subview(width + kv_width, kv_width)};
}

// Runs both directions. The parts of `out` are out and d_out; those of the gradients are dq, and dk
// and dv.
template <class T>
Outputs<T> run(kernels::CpuContext& ctx, const AttentionInput& in, const std::vector<double>& d_out,
               HostView<float> biases = {}) {
    const std::int64_t width = in.width(), kv_width = in.kv_width();
    const std::int64_t q_rows = in.q_offsets.back(), k_rows = in.k_offsets.back();
    Packed<T> queries(q_rows, width), keys(k_rows, kv_width);
    queries.set(0, in.q);
    keys.set(1, in.k);
    keys.set(2, in.v);
    Outputs<T> o{{q_rows, width}, {q_rows, width}, {k_rows, kv_width}};
    o.out.set(1, d_out);
    kernels::StepState state;
    state.seed = in.seed;
    state.step = in.step;
    const kernels::Dropout site{static_cast<float>(in.dropout_rate), in.site, &state};
    const kernels::Sequences<HostSpace> sequences{view_of(in.q_offsets), view_of(in.k_offsets),
                                                  view_of(in.rows)};
    std::vector<float> lse(in.shape.heads * queries.rows, unwritten);
    kernels::attention_forward<T>(ctx, {.shape = in.shape,
                                        .dropout = site,
                                        .sequences = sequences,
                                        .q = queries.part(0),
                                        .k = keys.part(1),
                                        .v = keys.part(2),
                                        .out = o.out.part(0),
                                        .log_sum_exp = view_of(lse)});
    kernels::attention_backward<T>(ctx, {.shape = in.shape,
                                         .dropout = site,
                                         .sequences = sequences,
                                         .q = queries.part(0),
                                         .k = keys.part(1),
                                         .v = keys.part(2),
                                         .out = o.out.part(0),
                                         .log_sum_exp = view_of(lse),
                                         .d_out = o.out.part(1),
                                         .dq = o.gradients_q.part(0),
                                         .dk = o.gradients_k.part(0),
                                         .dv = o.gradients_k.part(1),
                                         .biases = bias_parts(in, biases)});
    return o;
}

template <class T>
Outputs<T> run(const AttentionInput& in, const std::vector<double>& d_out, int threads) {
    kernels::CpuContext ctx(threads);
    return run<T>(ctx, in, d_out);
}

template <class T>
void check_against_reference(kernels::CpuContext& ctx, const AttentionInput& in, double slack) {
    const auto d_out = random_values(static_cast<std::int64_t>(in.q.size()), 4);
    const auto gradients = tests::attention_backward(in, d_out);
    auto o = run<T>(ctx, in, d_out);
    compare(o.out, 0, tests::attention_forward(in), slack);
    compare(o.gradients_q, 0, gradients.dq, slack);
    compare(o.gradients_k, 0, gradients.dk, slack);
    compare(o.gradients_k, 1, gradients.dv, slack);
}

template <class T>
void check_against_reference(const AttentionInput& in, double slack = 1) {
    for (int threads : {1, 2}) {
        CAPTURE(threads);
        kernels::CpuContext ctx(threads);
        check_against_reference<T>(ctx, in, slack);
    }
}

// Compares the attention of each sequence's newest query to a cache with the last row of causal
// attention.
template <class T>
void check_decode(kernels::AttentionShape shape, const std::vector<int>& lengths) {
    const AttentionInput in = make_input(shape, lengths, lengths);
    const auto expected = tests::attention_forward(in);
    const std::int64_t width = in.width(), count = lengths.size() + 1;
    kernels::CpuContext ctx(2);
    Packed<T> cache(in.k_offsets.back(), in.kv_width()), q(count - filler, width),
        out(count - filler, width);
    cache.set(0, in.k);
    cache.set(2, in.v);
    std::vector<std::int64_t> begin;
    std::vector<double> queries, last;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
        begin.push_back(in.k_offsets[s]);
        const auto from = (in.q_offsets[s + 1] - 1) * width;
        queries.insert(queries.end(), in.q.begin() + from, in.q.begin() + from + width);
        last.insert(last.end(), expected.begin() + from, expected.begin() + from + width);
    }
    std::vector<std::int32_t> length(lengths.begin(), lengths.end());
    begin.push_back(0);  // a sequence that has seen nothing
    length.push_back(0);
    queries.resize(count * width);
    last.resize(count * width);
    q.set(1, queries);
    kernels::attention_decode<T>(ctx, {.shape = in.shape,
                                       .begin = view_of(begin),
                                       .length = view_of(length),
                                       .q = q.part(1),
                                       .k_cache = cache.part(0),
                                       .v_cache = cache.part(2),
                                       .out = out.part(1)});
    compare(out, 1, last);
}

// These lengths fill no block, one or several.
inline const std::vector<int> awkward{1, 2, 31, 33, 64, 65, 130, 257};

}  // namespace lockstep::tests
