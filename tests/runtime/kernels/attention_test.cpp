// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/attention.hpp"

#include "tests/runtime/kernels/attention_case.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AttentionShape;
using kernels::CpuContext;
using kernels::Mask;

TEST_CASE_TEMPLATE("attention matches hand-computed values", T, float, bf16) {
    // Scores / sqrt(4): query 0 sees [0, 2 ln 3 / 2], thus the probabilities are 1/4 and 3/4.
    AttentionInput in;
    in.shape = {1, 4, Mask::none};
    in.q_offsets = {0, 1};
    in.k_offsets = {0, 2};
    in.rows = {0};
    in.q = {2, 0, 0, 0};
    in.k = {0, 1, 1, 1, std::log(3.0), 0, 0, 0};
    in.v = {4, 0, 8, 0, 0, 4, 8, 1};
    auto o = run<T>(in, {1, 0, 0, 0}, 1);
    compare(o.out, 0, {1, 3, 8, 0.75});
    // dS = P (dO V^T - delta) = [1/4 * (4 - 1), 3/4 * (0 - 1)], over sqrt(4).
    compare(o.gradients_k, 1, {0.25, 0, 0, 0, 0.75, 0, 0, 0});
    compare(o.gradients_k, 0, {0.75, 0, 0, 0, -0.75, 0, 0, 0});
    compare(o.gradients_q, 0, {-0.375 * std::log(3.0), 0.375, 0.375, 0.375});
}

TEST_CASE_TEMPLATE("a causal query sees nothing after itself", T, float, bf16) {
    AttentionInput in = make_input({1, 4, Mask::causal}, {3}, {3});
    in.q.assign(12, 0);  // equal scores: the mean of the visible values
    in.v = {3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 3, 0};
    auto o = run<T>(in, std::vector<double>(12, 0), 1);
    compare(o.out, 0, {3, 0, 0, 0, 1.5, 1.5, 0, 0, 1, 1, 1, 0});
}

TEST_CASE_TEMPLATE("attention equals its formula on a ragged batch", T, float, bf16) {
    for (const Mask mask : {Mask::none, Mask::causal}) {
        for (const double rate : {0.0, 0.25}) {
            CAPTURE(rate);
            // Heads of 21 columns are no whole pairs of bf16.
            for (const int head_dim : {20, 21}) {
                CAPTURE(head_dim);
                AttentionInput in = make_input({2, head_dim, mask}, awkward, awkward);
                in.dropout_rate = rate;
                in.site = 40;
                in.seed = 5;
                in.step = 9;
                check_against_reference<T>(in);
            }
        }
    }
}

// Heads of an odd width are no whole pairs of bf16; the others fill vectors and panels differently.
TEST_CASE_TEMPLATE("attention equals its formula for heads of any width", T, float, bf16) {
    for (const int head_dim : {1, 2, 3, 8, 15, 33, 34, 48, 64, 80, 128, 130}) {
        CAPTURE(head_dim);
        for (const Mask mask : {Mask::none, Mask::causal})
            check_against_reference<T>(make_input({2, head_dim, mask}, {3, 70}, {3, 70}));
    }
}

TEST_CASE_TEMPLATE("cross attention equals its formula, also where a side is empty", T, float,
                   bf16) {
    // In bf16 a key's gradient sums the rounding errors of 65 queries. Thirty masks reached 1.11
    // times the tolerance.
    const double slack = std::is_same_v<T, float> ? 1 : 1.25;
    for (const int head_dim : {16, 21}) {
        for (const std::uint64_t seed : {0, 1, 2}) {
            AttentionInput in =
                make_input({3, head_dim, Mask::none}, {1, 65, 31, 0, 5, 0}, {257, 2, 64, 7, 0, 0});
            in.dropout_rate = 0.1;
            in.seed = seed;
            check_against_reference<T>(in, slack);
        }
    }
}

TEST_CASE_TEMPLATE("a wide head of a long sequence has panels in several blocks", T, float, bf16) {
    check_against_reference<T>(make_input({1, 72, Mask::causal}, {300}, {300}));
}

// The maximum of a query changes from one block of keys to the next, by more than an exponential
// has room for.
TEST_CASE_TEMPLATE("scores may rise and fall far between blocks of keys", T, float, bf16) {
    for (const bool rising : {true, false}) {
        AttentionInput in = make_input({1, 16, Mask::none}, {9}, {600});
        for (int i = 0; i < 9; ++i) in.q[i * 16] = 4;
        for (int j = 0; j < 600; ++j) in.k[j * 16] = (j >= 256) == rising ? 0 : -200;
        check_against_reference<T>(in);
    }
}

// Products of no rows ended the process inside oneDNN.
TEST_CASE_TEMPLATE("many keys without any query have gradients of zero", T, float, bf16) {
    for (const int head_dim : {3, 16})
        check_against_reference<T>(make_input({1, head_dim, Mask::none}, {0, 2}, {300, 1}));
}

TEST_CASE_TEMPLATE("nothing is left of an earlier call's values", T, float, bf16) {
    for (const int head_dim : {21, 42}) {
        CpuContext ctx(1);
        auto nan = make_input({1, head_dim, Mask::none}, {300}, {300});
        for (auto* values : {&nan.q, &nan.k, &nan.v})
            std::fill(values->begin(), values->end(), double{unwritten});
        run<T>(ctx, nan, random_values(static_cast<std::int64_t>(nan.q.size()), 4));
        for (const int keys : {2, 9, 33, 300})
            check_against_reference<T>(ctx, make_input({1, head_dim, Mask::none}, {40}, {keys}), 4);
    }
}

TEST_CASE_TEMPLATE("long sequences of any lengths have several blocks", T, float, bf16) {
    for (const int head_dim : {8, 9}) {
        const std::vector<int> lengths{513, 385, 256};
        check_against_reference<T>(make_input({1, head_dim, Mask::causal}, lengths, lengths));
        check_against_reference<T>(
            make_input({1, head_dim, Mask::none}, {300, 129, 7}, {520, 3, 300}));
    }
}

TEST_CASE("large scores neither overflow nor lose the maximum") {
    AttentionInput in = make_input({1, 16, Mask::none}, {70}, {600});
    for (double& x : in.q) x *= 16;
    // Scores of some hundreds carry an absolute error of 1e-5 into the exponent.
    check_against_reference<float>(in, 10);
}

TEST_CASE("the reference's gradients are those of its values") {
    AttentionInput in = make_input({2, 3, Mask::causal}, {1, 4, 6}, {1, 4, 6});
    in.dropout_rate = 0.3;
    const auto d_out = random_values(in.q.size(), 4);
    const auto loss = [&] {
        const auto out = tests::attention_forward(in);
        double sum = 0;
        for (std::size_t e = 0; e < out.size(); ++e) sum += out[e] * d_out[e];
        return sum;
    };
    const auto analytic = tests::attention_backward(in, d_out);
    const auto check = [&](std::vector<double>& x, const std::vector<double>& gradient) {
        for (std::size_t e = 0; e < x.size(); ++e) {
            const double kept = x[e], h = 1e-5;
            x[e] = kept + h;
            const double above = loss();
            x[e] = kept - h;
            const double below = loss();
            x[e] = kept;
            CHECK((above - below) / (2 * h) == doctest::Approx(gradient[e]).epsilon(1e-6));
        }
    };
    check(in.q, analytic.dq);
    check(in.k, analytic.dk);
    check(in.v, analytic.dv);
}

TEST_CASE_TEMPLATE("the result does not depend on the number of threads", T, float, bf16) {
    const AttentionInput in = make_input({2, 32, Mask::causal}, awkward, awkward);
    const auto d_out = random_values(in.q.size(), 4);
    auto one = run<T>(in, d_out, 1), two = run<T>(in, d_out, 2);
    for (std::size_t e = 0; e < in.q.size(); ++e) {
        REQUIRE(one.out.at(0, e) == two.out.at(0, e));
        REQUIRE(one.gradients_q.at(0, e) == two.gradients_q.at(0, e));
        REQUIRE(one.gradients_k.at(0, e) == two.gradients_k.at(0, e));
        REQUIRE(one.gradients_k.at(1, e) == two.gradients_k.at(1, e));
    }
}

TEST_CASE_TEMPLATE("decoding equals the last row of causal attention", T, float, bf16) {
    check_decode<T>({2, 24, Mask::causal}, awkward);
}

TEST_CASE("what does not fit is refused") {
    CpuContext ctx(1);
    std::vector<float> x(64), lse(4);
    const std::vector<std::int32_t> two{0, 2}, three{0, 3};
    const std::vector<std::uint32_t> rows{0};
    const HostMatrix<float> m(x.data(), 4, 8);
    const auto forward = [&](int heads, const std::vector<std::int32_t>& keys) {
        kernels::attention_forward<float>(
            ctx, {.shape = {heads, 8, Mask::causal},
                  .sequences = {view_of(two), view_of(keys), view_of(rows)},
                  .q = m,
                  .k = m,
                  .v = m,
                  .out = m,
                  .log_sum_exp = view_of(lse)});
    };
    CHECK_THROWS_AS(forward(2, two), Error);    // wider than the matrices
    CHECK_THROWS_AS(forward(1, three), Error);  // causal with more keys than queries
    CHECK_NOTHROW(forward(1, two));
}
