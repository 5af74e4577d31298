// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"
#include "tests/support/on_device.hpp"
#include "tests/support/reference/attention_reference.hpp"

// These functions compare CUDA's attention with its formula in fp64.
namespace lockstep::tests {

using kernels::AttentionShape;
using kernels::CudaContext;
using kernels::Dropout;
using kernels::Mask;
using kernels::StepState;
using kernels::cuda::AttentionLibrary;

constexpr std::int64_t filler = 70;  // rows past the last sequence: more than a tile

template <class T>
double tolerance() {
    return std::is_same_v<T, float> ? 2e-6 : std::is_same_v<T, bf16> ? 1.0 / 128 : 1.0 / 1024;
}

// Returns values that are exact in bf16, so that only the arithmetic differs from the reference.
inline std::vector<double> exact_values(std::int64_t count, std::uint64_t key) {
    PhiloxStream random(key);
    std::vector<double> x(static_cast<std::size_t>(count));
    for (double& v : x) v = (static_cast<int>(random.below(65)) - 32) / 16.0;
    return x;
}

inline AttentionInput make_input(AttentionShape shape, const std::vector<int>& q_lengths,
                                 const std::vector<int>& k_lengths, double dropout_rate = 0) {
    AttentionInput in;
    in.shape = shape;
    in.q_offsets = in.k_offsets = {0};
    for (std::size_t s = 0; s < q_lengths.size(); ++s) {
        in.q_offsets.push_back(in.q_offsets.back() + q_lengths[s]);
        in.k_offsets.push_back(in.k_offsets.back() + k_lengths[s]);
        in.rows.push_back(static_cast<std::uint32_t>(1000 + 7 * s));
    }
    in.q = exact_values(std::int64_t{in.q_offsets.back()} * in.width(), 1);
    in.k = exact_values(std::int64_t{in.k_offsets.back()} * in.kv_width(), 2);
    in.v = exact_values(std::int64_t{in.k_offsets.back()} * in.kv_width(), 3);
    in.dropout_rate = dropout_rate;
    in.site = 40;
    in.seed = 5;
    in.step = 9;
    return in;
}

inline int longest(const std::vector<std::int32_t>& offsets) {
    int result = 0;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        result = std::max(result, offsets[s + 1] - offsets[s]);
    return result;
}

// Three matrices side by side, as one product for q, k and v makes them, and filler below. Columns
// begin `misaligned` elements later.
template <class T>
class Packed {
public:
    Packed(CudaContext& ctx, std::int64_t real, int width,
           std::initializer_list<const std::vector<double>*> parts, std::int64_t misaligned = 0)
        : rows_(real + filler),
          width_(width),
          stride_(3 * width + 8),
          misaligned_(misaligned),
          memory_(ctx, filled(parts)) {}

    CudaMatrix<T> part(int i) const {
        return {memory_.data() + misaligned_ + i * width_, rows_, width_, stride_};
    }
    std::vector<double> read(int part) const {
        const std::vector<T> all = memory_.values();
        std::vector<double> x;
        for (std::int64_t e = 0; e < rows_ * width_; ++e) x.push_back(to_double(all[at(part, e)]));
        return x;
    }

private:
    std::size_t at(int part, std::int64_t e) const {
        return static_cast<std::size_t>(e / width_ * stride_ + misaligned_ + part * width_ +
                                        e % width_);
    }
    std::vector<T> filled(std::initializer_list<const std::vector<double>*> parts) const {
        auto all = unwritten<T>(rows_ * stride_);
        int part = 0;
        for (const auto* x : parts) {
            for (std::size_t e = 0; x != nullptr && e < x->size(); ++e)
                all[at(part, static_cast<std::int64_t>(e))] = T(static_cast<float>((*x)[e]));
            ++part;
        }
        return all;
    }

    std::int64_t rows_, width_, stride_, misaligned_;
    OnDevice<T> memory_;
};

struct Results {
    std::vector<double> out, dq, dk, dv;
    std::vector<double> biases;  // of q, then k, then v
};

enum class Longest { unknown, known };

template <class T>
Results run(CudaContext& ctx, const AttentionInput& in, const std::vector<double>& d_out,
            Longest bound = Longest::known, std::int64_t misaligned = 0) {
    const std::int64_t q_rows = in.q_offsets.back(), k_rows = in.k_offsets.back();
    const Packed<T> queries(ctx, q_rows, in.width(), {&in.q}, misaligned);
    const Packed<T> keys(ctx, k_rows, in.kv_width(), {nullptr, &in.k, &in.v}, misaligned);
    const Packed<T> out(ctx, q_rows, in.width(), {nullptr, &d_out}, misaligned);
    const Packed<T> dq(ctx, q_rows, in.width(), {}, misaligned);
    const Packed<T> dk(ctx, k_rows, in.kv_width(), {}, misaligned);
    const OnDevice<StepState> state(ctx, {StepState{.seed = in.seed, .step = in.step}});
    const OnDevice q_offsets(ctx, in.q_offsets), k_offsets(ctx, in.k_offsets);
    const OnDevice rows(ctx, in.rows);
    kernels::Sequences<CudaSpace> sequences{q_offsets.const_view(), k_offsets.const_view(),
                                            rows.const_view()};
    if (bound == Longest::known) {
        sequences.longest_q = longest(in.q_offsets);
        sequences.longest_k = longest(in.k_offsets);
    }
    const Dropout site{static_cast<float>(in.dropout_rate), in.site, state.data()};
    const OnDevice lse(ctx, unwritten<float>(in.shape.heads * (q_rows + filler)));
    const auto width = static_cast<std::size_t>(in.width());
    const auto kv_width = static_cast<std::size_t>(in.kv_width());
    const OnDevice biases(ctx, unwritten<float>(in.width() + 2 * in.kv_width()));
    const CudaView<float> bias = biases.view();
    kernels::attention_forward<T>(ctx, {.shape = in.shape,
                                        .dropout = site,
                                        .sequences = sequences,
                                        .q = queries.part(0),
                                        .k = keys.part(1),
                                        .v = keys.part(2),
                                        .out = out.part(0),
                                        .log_sum_exp = lse.view()});
    kernels::attention_backward<T>(
        ctx, {.shape = in.shape,
              .dropout = site,
              .sequences = sequences,
              .q = queries.part(0),
              .k = keys.part(1),
              .v = keys.part(2),
              .out = out.part(0),
              .log_sum_exp = lse.const_view(),
              .d_out = out.part(1),
              .dq = dq.part(0),
              .dk = dk.part(0),
              .dv = dk.part(1),
              .biases = {bias.subview(0, width), bias.subview(width, kv_width),
                         bias.subview(width + kv_width, kv_width), kernels::Into::overwrite}});
    return {out.read(0), dq.read(0), dk.read(0), dk.read(1), to_doubles(biases.values())};
}

template <class T>
void compare(const std::vector<double>& actual, const std::vector<double>& expected,
             double slack = 1) {
    double largest = 0, worst = 0, tail = 0;
    for (std::size_t e = 0; e < expected.size(); ++e) {
        largest = std::max(largest, std::abs(expected[e]));
        const double difference = std::abs(actual[e] - expected[e]);
        worst = difference <= worst ? worst : difference;  // a NaN wins
    }
    for (std::size_t e = expected.size(); e < actual.size(); ++e) tail += actual[e] == 0 ? 0 : 1;
    CHECK(worst <= slack * tolerance<T>() * std::max(largest, 1e-3));
    CHECK(tail == 0);
}

// The sums over the rows of each gradient, to what its elements may be off.
template <class T>
void compare_biases(const std::vector<double>& biases, const AttentionInput& in,
                    std::initializer_list<const std::vector<double>*> gradients, double slack) {
    std::size_t i = 0, wrong = 0;
    for (const auto* gradient : gradients) {
        const int width = i == 0 ? in.width() : in.kv_width();
        double largest = 1e-3;
        for (const double x : *gradient) largest = std::max(largest, std::abs(x));
        const auto columns = static_cast<std::size_t>(width);
        for (std::size_t column = 0; column < columns; ++column, ++i) {
            double sum = 0, rows = 0;
            for (std::size_t e = column; e < gradient->size(); e += columns, ++rows)
                sum += (*gradient)[e];
            const double bound = slack * tolerance<T>() * largest * std::sqrt(rows + 1);
            wrong += std::abs(biases[i] - sum) <= bound ? 0 : 1;
        }
    }
    CHECK(i == biases.size());
    CHECK(wrong == 0);
}

template <class T>
void check_against_reference(const AttentionInput& in, double slack = 1,
                             std::int64_t misaligned = 0,
                             AttentionLibrary library = AttentionLibrary::always) {
    CAPTURE(in.shape.head_dim);
    CAPTURE(in.dropout_rate);
    CudaContext ctx(0);
    ctx.cached<kernels::cuda::AttentionSettings>().library = library;
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    const auto expected = tests::attention_forward(in);
    const auto gradients = tests::attention_backward(in, d_out);
    const Results r = run<T>(ctx, in, d_out, Longest::known, misaligned);
    compare<T>(r.out, expected, slack);
    compare<T>(r.dq, gradients.dq, slack);
    compare<T>(r.dk, gradients.dk, slack);
    compare<T>(r.dv, gradients.dv, slack);
    compare_biases<T>(r.biases, in, {&gradients.dq, &gradients.dk, &gradients.dv}, slack);
}

}  // namespace lockstep::tests
