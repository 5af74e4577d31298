// SPDX-License-Identifier: Apache-2.0
// Heads that share keys and values, and windows.
#include "tests/runtime/kernels/cuda/attention_under_test.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

AttentionShape shared_heads(int heads, int kv_heads, int head_dim, Mask mask, int window = 0) {
    return {heads, head_dim, mask, kv_heads, window};
}

// Returns the input without the keys that a newest query does not see.
AttentionInput newest_keys(const AttentionInput& in, int window) {
    AttentionInput result = in;
    result.k_offsets = {0};
    result.k.clear();
    result.v.clear();
    for (std::size_t s = 0; s + 1 < in.k_offsets.size(); ++s) {
        const int length = in.k_offsets[s + 1] - in.k_offsets[s];
        const int seen = window == 0 ? length : std::min(length, window);
        const auto from = std::int64_t{in.k_offsets[s + 1] - seen} * in.kv_width();
        const auto to = std::int64_t{in.k_offsets[s + 1]} * in.kv_width();
        result.k.insert(result.k.end(), in.k.begin() + from, in.k.begin() + to);
        result.v.insert(result.v.end(), in.v.begin() + from, in.v.begin() + to);
        result.k_offsets.push_back(result.k_offsets.back() + seen);
    }
    return result;
}

template <class T>
void check_newest(AttentionShape shape, const std::vector<int>& lengths,
                  std::int64_t misaligned = 0) {
    CAPTURE(shape.head_dim);
    CAPTURE(shape.window);
    AttentionShape all = shape;
    all.mask = Mask::none;
    all.window = 0;
    const AttentionInput in = make_input(all, std::vector<int>(lengths.size(), 1), lengths);
    CudaContext ctx(0);
    const auto rows = static_cast<std::int64_t>(lengths.size());
    const Packed<T> queries(ctx, rows - filler, in.width(), {&in.q}, misaligned);
    const Packed<T> cache(ctx, in.k_offsets.back(), in.kv_width(), {&in.k, nullptr, &in.v},
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
    compare<T>(out.read(1), tests::attention_forward(newest_keys(in, shape.window)));
}

const std::vector<int> uneven{1, 63, 0, 64, 65, 200, 0};

// The own kernels process what shares keys, whatever a library could do.
template <class T>
void check_shared(const AttentionInput& in, std::int64_t misaligned = 0) {
    // In 16 bits the gradients of each head are rounded before they are summed.
    check_against_reference<T>(in, std::is_same_v<T, float> ? 1 : 2, misaligned,
                               AttentionLibrary::always);
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's attention with shared keys equals its formula", T, float, bf16, fp16) {
    for (const Mask mask : {Mask::none, Mask::causal})
        for (const double rate : {0.0, 0.25})
            check_shared<T>(make_input(shared_heads(4, 2, 64, mask), uneven, uneven, rate));
    const std::vector<int> lengths{70, 1, 33};
    for (const int head_dim : {8, 20, 21, 40, 128, 255, 256})
        check_shared<T>(make_input(shared_heads(3, 1, head_dim, Mask::causal), lengths, lengths));
    check_shared<T>(make_input(shared_heads(7, 1, 16, Mask::causal), lengths, lengths));
    check_shared<T>(make_input(shared_heads(14, 2, 32, Mask::causal), lengths, lengths, 0.1));
    check_shared<T>(
        make_input(shared_heads(6, 2, 16, Mask::none), {1, 65, 0, 5, 0}, {200, 2, 7, 0, 0}));
    check_shared<T>(make_input(shared_heads(4, 2, 16, Mask::none), {20, 3}, {7, 40}), 1);
}

TEST_CASE_TEMPLATE("CUDA's attention with a window equals its formula", T, float, bf16, fp16) {
    for (const int window : {2, 31, 32, 63, 64, 65, 100, 2147483647})
        check_shared<T>(make_input(shared_heads(2, 1, 16, Mask::causal, window), {1, 70, 0, 200},
                                   {1, 70, 0, 200}));
    check_shared<T>(make_input(shared_heads(2, 2, 64, Mask::causal, 40), {130, 5}, {130, 5}, 0.25));
    check_shared<T>(make_input(shared_heads(4, 2, 136, Mask::causal, 20), {70}, {70}));
}

TEST_CASE_TEMPLATE("CUDA's attention with shared keys gives the same bits again", T, float, bf16) {
    CudaContext ctx(0);
    const AttentionInput in = make_input(shared_heads(4, 2, 32, Mask::causal), uneven, uneven, 0.1);
    const auto d_out = exact_values(static_cast<std::int64_t>(in.q.size()), 4);
    const Results one = run<T>(ctx, in, d_out), two = run<T>(ctx, in, d_out, Longest::unknown);
    CHECK(one.out == two.out);
    CHECK(one.dq == two.dq);
    CHECK(one.dk == two.dk);
    CHECK(one.dv == two.dv);
    ctx.cached<kernels::cuda::AttentionSettings>().max_score_bytes = 0;
    const Results one_by_one = run<T>(ctx, in, d_out);
    CHECK(one.dk == one_by_one.dk);
    CHECK(one.dv == one_by_one.dv);
}

TEST_CASE_TEMPLATE("CUDA's decoding reads shared keys, and no more than the window", T, float, bf16,
                   fp16) {
    for (const int head_dim : {8, 20, 64, 128, 255})
        check_newest<T>(shared_heads(6, 2, head_dim, Mask::none), {1, 63, 65, 300, 0});
    for (const int window : {1, 2, 63, 64, 100, 2147483647})
        check_newest<T>(shared_heads(3, 1, 16, Mask::causal, window), {1, 63, 65, 300, 0});
    check_newest<T>(shared_heads(4, 4, 64, Mask::causal, 128), {600, 2});
    check_newest<T>(shared_heads(8, 2, 16, Mask::causal, 20), std::vector<int>(60, 33));
    check_newest<T>(shared_heads(2, 1, 16, Mask::causal, 7), {20, 3}, 1);
}
