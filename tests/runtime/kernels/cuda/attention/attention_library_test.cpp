// SPDX-License-Identifier: Apache-2.0
// Tests attention with the library's kernels for all that it supports. Without cuDNN and on the
// emulated device these are Lockstep's own kernels again. There are few shapes, since cuDNN
// compiles for seconds for each.
#include "tests/runtime/kernels/cuda/attention_under_test.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

const std::vector<int> ragged{70, 1, 0, 33};

AttentionInput cross() {
    return make_input({3, 16, Mask::none}, {1, 65, 31, 0, 5, 0}, {200, 2, 64, 7, 0, 0});
}

}  // namespace

TEST_CASE("a library's attention equals its formula for every width of a head") {
    Mask mask = Mask::none;
    for (const int head_dim : {8, 32, 40, 64, 96, 128, 136}) {
        check_against_reference<bf16>(make_input({2, head_dim, mask}, ragged, ragged));
        mask = mask == Mask::none ? Mask::causal : Mask::none;
    }
    check_against_reference<bf16>(make_input({2, 64, Mask::none}, ragged, ragged));
    check_against_reference<fp16>(make_input({2, 64, Mask::causal}, ragged, ragged));
}

TEST_CASE("a library's cross attention equals its formula, also where a side is empty") {
    check_against_reference<bf16>(cross());
}

TEST_CASE("a library's sums in any order are the formula's too") {
    const auto check = [](const AttentionInput& in) {
        check_against_reference<bf16>(in, 1, 0, AttentionLibrary::in_any_order);
    };
    check(make_input({2, 40, Mask::causal}, ragged, ragged));
    check(make_input({2, 64, Mask::causal}, {300, 0, 700, 64}, {300, 0, 700, 64}));
    check(make_input({2, 128, Mask::none}, ragged, ragged));
    check(cross());
}

// A score of 0 past the end of a sequence would weigh exp(98) times as much as one inside.
TEST_CASE("keys past the end count for nothing where all scores are far below zero") {
    const std::vector<int> lengths{64, 192, 100, 1};
    AttentionInput in = make_input({2, 64, Mask::none}, lengths, lengths);
    for (double& x : in.q) x = 3.5 + x / 4;
    for (double& x : in.k) x = -3.5 + x / 4;
    for (const AttentionLibrary library :
         {AttentionLibrary::always, AttentionLibrary::in_any_order, AttentionLibrary::never})
        check_against_reference<bf16>(in, 4, 0, library);
}

TEST_CASE("a library's attention gives the same bits again") {
    CudaContext ctx(0);
    ctx.cached<kernels::cuda::AttentionSettings>().library = AttentionLibrary::always;
    const AttentionInput in = make_input({2, 32, Mask::causal}, ragged, ragged);
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    const Results one = run<bf16>(ctx, in, d_out), two = run<bf16>(ctx, in, d_out);
    CHECK(one.out == two.out);
    CHECK(one.dq == two.dq);
    CHECK(one.dk == two.dk);
    CHECK(one.dv == two.dv);
}

TEST_CASE("dropout is our own kernels' alone: a library changes nothing") {
    const AttentionInput in = make_input({2, 32, Mask::causal}, ragged, ragged, 0.25);
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    CudaContext with(0), without(0);
    with.cached<kernels::cuda::AttentionSettings>().library = AttentionLibrary::always;
    without.cached<kernels::cuda::AttentionSettings>().library = AttentionLibrary::never;
    const Results one = run<bf16>(with, in, d_out), two = run<bf16>(without, in, d_out);
    CHECK(one.out == two.out);
    CHECK(one.dq == two.dq);
    CHECK(one.dk == two.dk);
    CHECK(one.dv == two.dv);
}
