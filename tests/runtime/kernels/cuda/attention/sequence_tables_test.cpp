// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/sequence_tables.hpp"

#include <doctest/doctest.h>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cuda;

namespace {

AttentionBatch batch_of(const OnDevice<std::int32_t>& q, const OnDevice<std::int32_t>& k,
                        std::int64_t q_total, int heads, int head_dim) {
    AttentionBatch batch{};
    batch.queries = {q.data(), q_total, 2};
    batch.keys = {k.data(), 7, 4};
    batch.sequences = 3;
    batch.heads = heads;
    batch.head_dim = head_dim;
    return batch;
}

}  // namespace

TEST_CASE("a library's tables name lengths and offsets, of empty sequences past the last") {
    device::CudaContext ctx(0);
    const OnDevice<std::int32_t> q(ctx, {0, 3, 3, 8}), k(ctx, {0, 2, 6, 7});
    const OnDevice q_lengths(ctx, std::vector<std::int32_t>(5, -1));
    const OnDevice k_lengths(ctx, std::vector<std::int32_t>(5, -1));
    const OnDevice offsets(ctx, std::vector<std::int64_t>(12, -1));
    SequenceTables tables{q_lengths.data(), k_lengths.data(), offsets.data(), 5, 2, {}, {10, 100}};
    tables.sides[1] = Side::keys;
    fill_sequence_tables(ctx, batch_of(q, k, 8, 1, 8), tables);
    CHECK(q_lengths.values() == std::vector<std::int32_t>{3, 0, 5, 0, 0});
    CHECK(k_lengths.values() == std::vector<std::int32_t>{2, 4, 1, 0, 0});
    CHECK(offsets.values() ==
          std::vector<std::int64_t>{0, 30, 30, 80, 80, 80, 0, 200, 600, 700, 700, 700});
}

TEST_CASE_TEMPLATE("what a library leaves unwritten is cleared, and nothing else", T, bf16, fp16) {
    device::CudaContext ctx(0);
    const OnDevice<std::int32_t> q(ctx, {0, 2, 4, 5}), k(ctx, {0, 3, 3, 4});
    const OnDevice m(ctx, std::vector<T>(7 * 8, T(1.0f)));
    clear_unattended<T>(ctx, batch_of(q, k, 7, 2, 3), Side::queries, m.matrix(7, 6, 8));
    const auto values = m.values();
    for (std::size_t row = 0; row < 7; ++row)
        for (std::size_t col = 0; col < 8; ++col) {
            const bool cleared = (row == 2 || row == 3 || row >= 5) && col < 6;
            CHECK(to_double(values[row * 8 + col]) == (cleared ? 0 : 1));
        }
}
