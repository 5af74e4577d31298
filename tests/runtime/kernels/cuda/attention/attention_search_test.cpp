// SPDX-License-Identifier: Apache-2.0
// Tests the choice between a library and Lockstep's own kernels, with the emulated library only.
#include "runtime/kernels/cuda/attention/attention_search.hpp"

#include "tests/runtime/kernels/cuda/attention_under_test.hpp"
#include "tests/support/cuda_emulation/attention_library.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::cuda::AttentionSettings;

namespace {

enum Sums { fixed_order, any_order };

struct Case {
    explicit Case(const std::vector<int>& q_lengths, const std::vector<int>& k_lengths,
                  Mask mask = Mask::none)
        : in(make_input({2, 16, mask}, q_lengths, k_lengths)),
          d_out(exact_values(static_cast<std::int64_t>(in.q.size()), 4)) {
        library.on = true;
        settings.library = AttentionLibrary::always;
    }
    Results run() { return tests::run<bf16>(ctx, in, d_out); }
    void check(const Results& r) const {
        const auto expected = tests::attention_backward(in, d_out);
        compare<bf16>(r.out, tests::attention_forward(in));
        compare<bf16>(r.dq, expected.dq);
        compare<bf16>(r.dk, expected.dk);
        compare<bf16>(r.dv, expected.dv);
    }

    CudaContext ctx{0};
    EmulatedAttentionLibrary& library = ctx.cached<EmulatedAttentionLibrary>();
    AttentionSettings& settings = ctx.cached<AttentionSettings>();
    AttentionInput in;
    std::vector<double> d_out;
};

const std::vector<int> ragged{70, 1, 0, 33};

}  // namespace

TEST_CASE("our own backward goes on from a library's forward") {
    for (const Mask mask : {Mask::none, Mask::causal}) {
        Case a(ragged, ragged, mask);
        a.library.longest_in_fixed_order = 0;
        a.check(a.run());
        CHECK(a.library.runs[fixed_order] == 0);
    }
    Case cross({1, 65, 31, 0, 5, 0}, {200, 2, 64, 7, 0, 0});
    cross.library.longest_in_fixed_order = 0;
    cross.check(cross.run());
}

TEST_CASE("a library's backward meets no number that nobody wrote") {
    Case a(ragged, ragged, Mask::causal), cross({1, 65, 31, 0, 5, 0}, {200, 2, 64, 7, 0, 0});
    for (Case* each : {&a, &cross}) {
        each->check(each->run());
        CHECK(each->library.runs[fixed_order] == 1);
    }
}

TEST_CASE("autotune takes the fastest backward, and measures it once a shape") {
    struct Expected {
        float milliseconds[2];
        int runs[2];  // in two backwards; measuring takes six
    };
    for (const Expected& expected :
         {Expected{{1, 2}, {6, 6}}, Expected{{-1, -2}, {6, 8}}, Expected{{-2, -1}, {8, 6}}}) {
        Case a(ragged, ragged);
        a.settings.autotune = true;
        std::ranges::copy(expected.milliseconds, a.library.milliseconds);
        a.run();
        a.check(a.run());
        CHECK(a.library.runs[fixed_order] == expected.runs[fixed_order]);
        CHECK(a.library.runs[any_order] == expected.runs[any_order]);
    }
}

TEST_CASE("without autotune a library's sums are in a fixed order") {
    Case a(ragged, ragged);
    a.library.milliseconds[any_order] = -1;
    a.run();
    CHECK(a.library.runs[fixed_order] == 1);
    CHECK(a.library.runs[any_order] == 0);
}

TEST_CASE("a library is expected to repay its plans where a sequence is long") {
    Case shorter({255}, {255}), longer({3, 256}, {3, 256});
    for (Case* each : {&shorter, &longer}) {
        each->library.longest_in_fixed_order = 1000;
        each->settings.library = AttentionLibrary::expected;
        each->check(each->run());
    }
    CHECK(shorter.library.runs[fixed_order] == 0);
    CHECK(longer.library.runs[fixed_order] == 1);
}

TEST_CASE("sums in any order can be asked for, for comparisons") {
    Case a(ragged, ragged, Mask::causal);
    a.settings.library = AttentionLibrary::in_any_order;
    a.check(a.run());
    CHECK(a.library.runs[fixed_order] == 0);
    CHECK(a.library.runs[any_order] == 1);
}

TEST_CASE("autotune takes what is possible: dropout is our own kernels' alone") {
    Case a(ragged, ragged);
    a.settings.autotune = true;
    a.library.milliseconds[any_order] = -1;
    a.run();
    CHECK(a.library.runs[any_order] == 7);
    a.in.dropout_rate = 0.25;
    a.check(a.run());
    CHECK(a.library.runs[any_order] == 7);
}

TEST_CASE("autotune measures nothing while a stream is captured") {
    using kernels::cuda::BackwardBy;
    CudaContext ctx(0);
    kernels::cuda::BackwardSearch search;
    const kernels::cuda::AttentionBatch batch{};
    const std::vector<BackwardBy> ways{BackwardBy::library, BackwardBy::own};
    int asked = 0;
    const auto milliseconds = [&](BackwardBy way) {
        ++asked;
        return way == BackwardBy::own ? 1.0f : 2.0f;
    };
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(search.of(ctx, batch, ways, milliseconds) == BackwardBy::library);
    REQUIRE(cudaStreamEndCapture(ctx.stream(), &graph) == cudaSuccess);
    cudaGraphDestroy(graph);
    CHECK(asked == 0);
    CHECK(search.of(ctx, batch, ways, milliseconds) == BackwardBy::own);
    CHECK(asked == 2);
}

TEST_CASE("the user is told what keeps attention from a library") {
    CudaContext ctx(0);
    CHECK(kernels::describe_attention(ctx, 64, 0) == "an emulated library");
    CHECK(kernels::describe_attention(ctx, 64, 0.1f) ==
          "own kernels in training, whose attention has dropout; else by an emulated library");
    for (const int head_dim : {36, 136})
        CHECK(kernels::describe_attention(ctx, head_dim, 0).starts_with("own kernels: "));
}
