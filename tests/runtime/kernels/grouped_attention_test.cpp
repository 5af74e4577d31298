// SPDX-License-Identifier: Apache-2.0
// Heads that share keys and values, and windows.
#include <cmath>

#include "tests/runtime/kernels/attention_case.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AttentionShape;
using kernels::CpuContext;
using kernels::Mask;

namespace {

AttentionShape grouped(int heads, int kv_heads, int head_dim, Mask mask, std::int32_t window = 0) {
    return {heads, head_dim, mask, kv_heads, window};
}

template <class T>
void check_same_bits(const AttentionInput& in, std::initializer_list<int> teams) {
    const auto d_out = random_values(static_cast<std::int64_t>(in.q.size()), 4);
    auto one = run<T>(in, d_out, 1);
    for (const int threads : teams) {
        auto more = run<T>(in, d_out, threads);
        for (std::size_t e = 0; e < in.q.size(); ++e) {
            REQUIRE(one.out.at(0, e) == more.out.at(0, e));
            REQUIRE(one.gradients_q.at(0, e) == more.gradients_q.at(0, e));
        }
        for (std::size_t e = 0; e < in.k.size(); ++e) {
            REQUIRE(one.gradients_k.at(0, e) == more.gradients_k.at(0, e));
            REQUIRE(one.gradients_k.at(1, e) == more.gradients_k.at(1, e));
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("heads in a row share keys, whose gradients are sums", T, float, bf16) {
    // Heads 0 and 1 read keys' head 0, heads 2 and 3 its head 1. There is one key.
    AttentionInput in;
    in.shape = grouped(4, 2, 1, Mask::none);
    in.q_offsets = in.k_offsets = {0, 1};
    in.rows = {0};
    in.q = {1, 2, 3, 4};
    in.k = {5, 6};
    in.v = {7, 8};
    auto o = run<T>(in, {1, 2, 3, 4}, 1);
    compare(o.out, 0, {7, 7, 8, 8});
    compare(o.gradients_k, 1, {1 + 2, 3 + 4});
    compare(o.gradients_k, 0, {0, 0});
}

TEST_CASE_TEMPLATE("a query sees no more keys than its window", T, float, bf16) {
    AttentionInput in = make_input(grouped(1, 1, 4, Mask::causal, 2), {4}, {4});
    in.q.assign(16, 0);  // equal scores: the mean of the visible values
    in.v = {4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4};
    auto o = run<T>(in, std::vector<double>(16, 1), 1);
    compare(o.out, 0, {4, 0, 0, 0, 2, 2, 0, 0, 0, 2, 2, 0, 0, 0, 2, 2});
    // Key 0 is seen by query 0 alone and by query 1 beside another one.
    std::vector<double> dv(16, 1);
    std::fill_n(dv.begin(), 4, 1.5);
    std::fill_n(dv.begin() + 12, 4, 0.5);
    compare(o.gradients_k, 1, dv);
}

TEST_CASE_TEMPLATE("attention with shared keys equals its formula", T, float, bf16) {
    // In bf16 a key's gradient sums what its heads round, each in its own way.
    const auto slack = [](int heads_of_a_key) {
        return std::is_same_v<T, float> ? 1 : std::sqrt(heads_of_a_key);
    };
    struct Heads {
        int heads, kv_heads, head_dim;
    };
    for (const Heads h : {Heads{4, 2, 16}, {3, 1, 21}, {8, 2, 8}, {7, 1, 64}, {14, 2, 5}}) {
        CAPTURE(h.heads);
        for (const Mask mask : {Mask::none, Mask::causal})
            for (const double rate : {0.0, 0.25}) {
                AttentionInput in = make_input(grouped(h.heads, h.kv_heads, h.head_dim, mask),
                                               {3, 70, 1, 33}, {3, 70, 1, 33});
                in.dropout_rate = rate;
                in.site = 40;
                check_against_reference<T>(in, slack(h.heads / h.kv_heads));
            }
    }
    check_against_reference<T>(
        make_input(grouped(6, 2, 16, Mask::none), {1, 65, 0, 5, 0}, {257, 2, 7, 0, 0}), slack(3));
    check_against_reference<T>(make_input(grouped(2, 1, 256, Mask::causal), {40}, {40}), slack(2));
    check_against_reference<T>(make_input(grouped(2, 1, 255, Mask::causal), {40}, {40}), slack(2));
}

TEST_CASE_TEMPLATE("as many heads of keys as of queries have the bits of none given", T, float,
                   bf16) {
    const AttentionInput in = make_input({3, 20, Mask::causal}, awkward, awkward);
    AttentionInput named = in;
    named.shape.kv_heads = 3;
    const auto d_out = random_values(static_cast<std::int64_t>(in.q.size()), 4);
    auto a = run<T>(in, d_out, 1), b = run<T>(named, d_out, 2);
    for (std::size_t e = 0; e < in.q.size(); ++e) {
        REQUIRE(a.out.at(0, e) == b.out.at(0, e));
        REQUIRE(a.gradients_k.at(0, e) == b.gradients_k.at(0, e));
    }
}

// Windows end inside of blocks of keys and of queries, at their borders and beyond the sequence.
TEST_CASE_TEMPLATE("attention with a window equals its formula", T, float, bf16) {
    for (const std::int32_t window : {2, 7, 64, 127, 128, 129, 256, 300, 2147483647}) {
        CAPTURE(window);
        check_against_reference<T>(
            make_input(grouped(2, 1, 9, Mask::causal, window), {1, 70, 600}, {1, 70, 600}),
            std::is_same_v<T, float> ? 1 : 1.25);
    }
    AttentionInput in = make_input(grouped(2, 2, 16, Mask::causal, 5), awkward, awkward);
    in.dropout_rate = 0.25;
    in.site = 40;
    check_against_reference<T>(in);
}

TEST_CASE_TEMPLATE("a window of one key copies its value", T, float, bf16) {
    const AttentionInput in = make_input(grouped(2, 2, 8, Mask::causal, 1), {300, 3}, {300, 3});
    const auto d_out = random_values(static_cast<std::int64_t>(in.q.size()), 4);
    auto o = run<T>(in, d_out, 1);
    compare(o.out, 0, in.v);
    compare(o.gradients_k, 1, d_out);
}

TEST_CASE_TEMPLATE("a window as long as the sequence hides nothing", T, float, bf16) {
    const auto d_out = random_values(600 * 16, 4);
    auto with = run<T>(make_input(grouped(1, 1, 16, Mask::causal, 600), {600}, {600}), d_out, 1);
    // A head of 16 columns may be calculated by tiles where there is no window.
    AttentionInput none = make_input(grouped(1, 1, 16, Mask::causal), {600}, {600});
    compare(with.out, 0, tests::attention_forward(none));
}

// What a window hides may be anything: the first keys of a long sequence have large scores.
TEST_CASE_TEMPLATE("keys before the window take no part", T, float, bf16) {
    AttentionInput in = make_input(grouped(1, 1, 8, Mask::causal, 20), {400}, {400});
    for (int j = 0; j < 300; ++j)
        for (int c = 0; c < 8; ++c) in.k[j * 8 + c] *= j < 100 ? 40 : 1;
    check_against_reference<T>(in, 10);
}

TEST_CASE_TEMPLATE("shared keys and windows give the same bits for any number of threads", T, float,
                   bf16) {
    check_same_bits<T>(make_input(grouped(6, 2, 32, Mask::causal), awkward, awkward), {2, 3, 4});
    check_same_bits<T>(make_input(grouped(4, 1, 24, Mask::causal, 100), awkward, awkward),
                       {2, 3, 4});
}

TEST_CASE_TEMPLATE("decoding reads the heads that are shared, and no more than the window", T,
                   float, bf16) {
    for (const std::int32_t window : {0, 1, 2, 32, 64, 300, 2147483647})
        for (const int kv_heads : {1, 2, 6}) {
            CAPTURE(window);
            check_decode<T>(grouped(6, kv_heads, 24, Mask::causal, window), awkward);
            check_decode<T>(grouped(6, kv_heads, 7, Mask::causal, window), awkward);
        }
}

// One thread takes all heads that share keys; many threads take single ones.
TEST_CASE_TEMPLATE("decoding has the same bits for any number of threads", T, float, bf16) {
    constexpr int heads = 6, head_dim = 20, keys = 1000;
    const AttentionShape shape = grouped(heads, 2, head_dim, Mask::causal);
    std::vector<T> q, cache;
    for (const double x : random_values(heads * head_dim, 1)) q.emplace_back(static_cast<float>(x));
    for (const double x : random_values(keys * 4 * head_dim, 2))
        cache.emplace_back(static_cast<float>(x));
    const std::vector<std::int64_t> begin{0};
    const std::vector<std::int32_t> length{keys};
    const HostMatrix<const T> rows(cache.data(), keys, 4 * head_dim);
    const auto decoded = [&](int threads) {
        CpuContext ctx(threads);
        std::vector<T> out(q.size());
        kernels::attention_decode<T>(ctx, {.shape = shape,
                                           .begin = view_of(begin),
                                           .length = view_of(length),
                                           .q = HostMatrix<T>(q.data(), 1, heads * head_dim),
                                           .k_cache = rows.columns(0, 2 * head_dim),
                                           .v_cache = rows.columns(2 * head_dim, 2 * head_dim),
                                           .out = HostMatrix<T>(out.data(), 1, heads * head_dim)});
        std::vector<float> bits;
        for (const T& x : out) bits.push_back(static_cast<float>(x));
        return bits;
    };
    for (const int threads : {2, 3, 8}) CHECK(decoded(threads) == decoded(1));
}

TEST_CASE_TEMPLATE("the biases of shared keys get sums over their columns", T, float, bf16) {
    CpuContext ctx(2);
    const AttentionInput in = make_input(grouped(4, 2, 8, Mask::causal), {5, 9}, {5, 9});
    const auto d_out = random_values(static_cast<std::int64_t>(in.q.size()), 4);
    std::vector<float> biases(32 + 16 + 16, unwritten);
    auto o = run<T>(ctx, in, d_out, view_of(biases));
    std::vector<double> sums(biases.size());
    for (std::int64_t i = 0; i < 14; ++i) {
        for (std::size_t c = 0; c < 32; ++c)
            sums[c] += o.gradients_q.at(0, i * 32 + static_cast<std::int64_t>(c));
        for (std::size_t c = 0; c < 16; ++c) {
            sums[32 + c] += o.gradients_k.at(0, i * 16 + static_cast<std::int64_t>(c));
            sums[48 + c] += o.gradients_k.at(1, i * 16 + static_cast<std::int64_t>(c));
        }
    }
    for (std::size_t c = 0; c < sums.size(); ++c)
        CHECK(double{biases[c]} == doctest::Approx(sums[c]).epsilon(1e-4));
}
