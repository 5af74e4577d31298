// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/cuda/attention_under_test.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

// Compares the attention of each sequence's newest query to its rows of a cache, which begin
// anywhere. The last sequence has seen nothing.
template <class T>
void check_decode(AttentionShape shape, const std::vector<int>& lengths,
                  std::int64_t misaligned = 0) {
    CAPTURE(shape.head_dim);
    shape.mask = Mask::none;
    const std::vector<int> ones(lengths.size(), 1);
    const AttentionInput in = make_input(shape, ones, lengths);
    CudaContext ctx(0);
    const auto rows = static_cast<std::int64_t>(lengths.size());
    const Packed<T> queries(ctx, rows - filler, in.width(), {&in.q}, misaligned);
    const Packed<T> cache(ctx, in.k_offsets.back(), in.width(), {&in.k, nullptr, &in.v},
                          misaligned);
    const Packed<T> out(ctx, rows - filler, in.width(), {}, misaligned);
    const OnDevice begin(ctx,
                         std::vector<std::int64_t>(in.k_offsets.begin(), in.k_offsets.end() - 1));
    const OnDevice length(ctx, std::vector<std::int32_t>(lengths.begin(), lengths.end()));
    kernels::attention_decode<T>(ctx, {.shape = shape,
                                       .begin = begin.const_view(),
                                       .length = length.const_view(),
                                       .q = queries.part(0),
                                       .k_cache = cache.part(0),
                                       .v_cache = cache.part(2),
                                       .out = out.part(1)});
    compare<T>(out.read(1), tests::attention_forward(in));
}

const std::vector<int> awkward{1, 63, 0, 64, 65, 200, 0};

// A library that accepts a batch would hide Lockstep's own kernels (attention_library_test.cpp).
template <class T>
void check_own(const AttentionInput& in, double slack = 1, std::int64_t misaligned = 0) {
    check_against_reference<T>(in, slack, misaligned, AttentionLibrary::never);
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's attention matches hand-computed values", T, float, bf16, fp16) {
    // Scores / sqrt(4): query 0 sees [0, 2 ln 3 / 2], thus the probabilities are 1/4 and 3/4.
    AttentionInput in;
    in.shape = {1, 4, Mask::none};
    in.q_offsets = {0, 1};
    in.k_offsets = {0, 2};
    in.rows = {0};
    in.q = {2, 0, 0, 0};
    in.k = {0, 1, 1, 1, std::log(3.0), 0, 0, 0};
    in.v = {4, 0, 8, 0, 0, 4, 8, 1};
    CudaContext ctx(0);
    const Results r = run<T>(ctx, in, {1, 0, 0, 0});
    compare<T>(r.out, {1, 3, 8, 0.75});
    // dS = P (dO V^T - delta) = [1/4 * (4 - 1), 3/4 * (0 - 1)], over sqrt(4).
    compare<T>(r.dv, {0.25, 0, 0, 0, 0.75, 0, 0, 0});
    compare<T>(r.dk, {0.75, 0, 0, 0, -0.75, 0, 0, 0});
    compare<T>(r.dq, {-0.375 * std::log(3.0), 0.375, 0.375, 0.375});
}

TEST_CASE_TEMPLATE("on CUDA a causal query sees nothing after itself", T, float, bf16, fp16) {
    AttentionInput in = make_input({1, 8, Mask::causal}, {3}, {3});
    in.q.assign(24, 0);  // equal scores: the mean of the visible values
    in.v.assign(24, 0);
    in.v[0] = in.v[8 + 1] = in.v[16 + 2] = 3;
    CudaContext ctx(0);
    const auto out = run<T>(ctx, in, std::vector<double>(24, 0)).out;
    std::vector<double> expected(24, 0);
    expected[0] = 3;
    expected[8] = expected[9] = 1.5;
    expected[16] = expected[17] = expected[18] = 1;
    compare<T>(out, expected);
}

TEST_CASE_TEMPLATE("CUDA's attention equals its formula on a ragged batch", T, float, bf16, fp16) {
    for (const Mask mask : {Mask::none, Mask::causal})
        for (const double rate : {0.0, 0.25})
            check_own<T>(make_input({2, 64, mask}, awkward, awkward, rate));
}

TEST_CASE_TEMPLATE("CUDA's attention equals its formula for every width of a head", T, float, bf16,
                   fp16) {
    for (const int head_dim : {8, 20, 32, 40, 96, 128, 136, 256}) {
        const std::vector<int> lengths{70, 1, 33}, short_lengths{40, 1};
        for (const double rate : {0.0, 0.25})
            check_own<T>(make_input({2, head_dim, Mask::causal}, lengths, lengths, rate));
        check_own<T>(make_input({1, head_dim, Mask::none}, short_lengths, short_lengths));
    }
}

TEST_CASE_TEMPLATE("CUDA's cross attention equals its formula, also where a side is empty", T,
                   float, bf16, fp16) {
    const std::vector<int> q_lengths{1, 65, 31, 0, 5, 0}, k_lengths{200, 2, 64, 7, 0, 0};
    for (const double rate : {0.0, 0.1})
        check_own<T>(make_input({3, 16, Mask::none}, q_lengths, k_lengths, rate));
}

TEST_CASE_TEMPLATE("CUDA's attention reads matrices that vectors cannot", T, float, bf16, fp16) {
    check_own<T>(make_input({2, 16, Mask::none}, {20, 3}, {7, 40}), 1, 1);
}

TEST_CASE("on CUDA large scores neither overflow nor lose the maximum") {
    AttentionInput in = make_input({1, 16, Mask::none}, {70}, {300});
    for (double& x : in.q) x *= 16;
    // Scores of some hundreds carry an absolute error of 1e-5 into the exponent.
    check_own<float>(in, 10);
    check_own<bf16>(in, 2);
    check_own<fp16>(in, 2);
}

TEST_CASE_TEMPLATE("CUDA's attention gives the same bits again, whatever is known of lengths", T,
                   float, bf16) {
    CudaContext ctx(0);
    const AttentionInput in = make_input({2, 32, Mask::causal}, awkward, awkward, 0.1);
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    const Results one = run<T>(ctx, in, d_out), two = run<T>(ctx, in, d_out, Longest::unknown);
    CHECK(one.out == two.out);
    CHECK(one.dq == two.dq);
    CHECK(one.dk == two.dk);
    CHECK(one.dv == two.dv);
}

TEST_CASE_TEMPLATE("CUDA's backward gives the same bits by single heads as by all together", T,
                   bf16, fp16) {
    CudaContext ctx(0);
    auto& settings = ctx.cached<kernels::cuda::AttentionSettings>();
    settings.library = AttentionLibrary::never;
    const AttentionInput in = make_input({3, 64, Mask::causal}, awkward, awkward, 0.1);
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    const Results together = run<T>(ctx, in, d_out);
    settings.max_score_bytes = 0;
    const Results one_by_one = run<T>(ctx, in, d_out);
    CHECK(together.dq == one_by_one.dq);
    CHECK(together.dk == one_by_one.dk);
    CHECK(together.dv == one_by_one.dv);
}

TEST_CASE_TEMPLATE("CUDA's backward gives short sequences the bits that it gives long ones", T,
                   bf16, fp16) {
    CudaContext ctx(0);
    ctx.cached<kernels::cuda::AttentionSettings>().library = AttentionLibrary::never;
    const std::vector<int> q_lengths{1, 128, 33, 0, 64, 5, 65, 0},
        k_lengths{70, 2, 64, 7, 0, 128, 65, 0};
    for (const int head_dim : {24, 64, 128})
        for (const double rate : {0.0, 0.1})
            for (const Mask mask : {Mask::none, Mask::causal}) {
                const auto& keys = mask == Mask::causal ? q_lengths : k_lengths;
                const AttentionInput in = make_input({2, head_dim, mask}, q_lengths, keys, rate);
                const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
                const Results brief = run<T>(ctx, in, d_out);
                const Results lengthy = run<T>(ctx, in, d_out, Longest::unknown);
                CHECK(brief.dq == lengthy.dq);
                CHECK(brief.dk == lengthy.dk);
                CHECK(brief.dv == lengthy.dv);
                compare_biases<T>(brief.biases, in, {&brief.dq, &brief.dk, &brief.dv}, 1);
            }
}

TEST_CASE_TEMPLATE("CUDA's decoding matches hand-computed values", T, float, bf16, fp16) {
    // Scores / sqrt(4) = [0, ln 3], thus the probabilities are 1/4 and 3/4.
    CudaContext ctx(0);
    const float ln_3 = std::log(3.0f);
    const OnDevice q(ctx, numbers<T>({2, 0, 0, 0})), out(ctx, unwritten<T>(4));
    const OnDevice k(ctx, numbers<T>({9, 9, 9, 9, 0, 1, 1, 1, ln_3, 0, 0, 0}));
    const OnDevice v(ctx, numbers<T>({9, 9, 9, 9, 4, 0, 8, 0, 0, 4, 8, 1}));
    const OnDevice<std::int64_t> begin(ctx, {1});
    const OnDevice<std::int32_t> length(ctx, {2});
    kernels::attention_decode<T>(ctx, {.shape = {1, 4, Mask::causal},
                                       .begin = begin.const_view(),
                                       .length = length.const_view(),
                                       .q = q.matrix(1, 4),
                                       .k_cache = k.matrix(3, 4),
                                       .v_cache = v.matrix(3, 4),
                                       .out = out.matrix(1, 4)});
    compare<T>(to_doubles(out.values()), {1, 3, 8, 0.75});
}

TEST_CASE_TEMPLATE("CUDA's decoding equals its formula, by few sequences and by many", T, float,
                   bf16, fp16) {
    for (const int head_dim : {8, 20, 24, 64, 128, 136, 256})
        check_decode<T>({2, head_dim, Mask::none}, {1, 63, 64, 65, 200, 300, 0});
    check_decode<T>({1, 64, Mask::none}, {600, 2});
    check_decode<T>({8, 16, Mask::none}, std::vector<int>(60, 33));
    check_decode<T>({2, 16, Mask::none}, {20, 3}, 1);
}

TEST_CASE("CUDA's attention refuses what does not fit") {
    CudaContext ctx(0);
    const OnDevice x(ctx, unwritten<float>(64)), lse(ctx, unwritten<float>(4));
    const OnDevice<std::int32_t> two(ctx, {0, 2}), three(ctx, {0, 2, 4});
    const OnDevice<std::uint32_t> rows(ctx, {0});
    const CudaMatrix<float> m = x.matrix(4, 8), wide(x.data(), 1, 264);
    const auto forward = [&](int heads, int head_dim, const OnDevice<std::int32_t>& keys,
                             CudaMatrix<float> matrix) {
        kernels::attention_forward<float>(
            ctx, {.shape = {heads, head_dim, Mask::none},
                  .sequences = {two.const_view(), keys.const_view(), rows.const_view()},
                  .q = matrix,
                  .k = matrix,
                  .v = matrix,
                  .out = m,
                  .log_sum_exp = lse.view()});
    };
    CHECK_THROWS_AS(forward(2, 8, two, m), Error);       // wider than the matrices
    CHECK_THROWS_AS(forward(1, 8, three, m), Error);     // more sequences of keys
    CHECK_THROWS_AS(forward(1, 264, two, wide), Error);  // a head wider than any kernel
}
