// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/embedding.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/cuda/primitives/id_order.hpp"
#include "runtime/kernels/scatter.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;
using Ids = std::vector<std::int32_t>;

namespace {

// Few ids often, many seldom, as words are.
Ids ids_of(std::int64_t count, std::int32_t limit, std::uint64_t key) {
    PhiloxStream random(key);
    Ids ids(static_cast<std::size_t>(count));
    for (auto& id : ids) id = static_cast<std::int32_t>(limit * std::pow(random.uniform(), 4.0));
    return ids;
}

}  // namespace

TEST_CASE("CUDA sorts ids, keeping the order of equal ones, with filler last") {
    CudaContext ctx(0);
    for (const std::int64_t count : {1, 31, 256, 2049, 8192, 8193, 10'240})
        for (const std::int32_t limit : {1, 7, 256, 50257, 100'000}) {
            Ids ids = ids_of(count, limit, 3);
            if (count > 30) ids[30] = -1;
            const OnDevice on_device(ctx, ids);
            const OnDevice words(ctx,
                                 std::vector<std::uint32_t>(kernels::cuda::id_order_words(count)));
            const auto real = static_cast<std::int32_t>(count - count / 20);
            const OnDevice<std::int32_t> on_device_real(ctx, {real});
            const auto sorted = kernels::cuda::order_by_id(
                ctx, {on_device.data(), on_device_real.data(), count, limit}, words.view());
            std::vector<std::uint32_t> expected(ids.size()), order(ids.size());
            std::iota(expected.begin(), expected.end(), 0u);
            const auto key = [&](std::uint32_t i) {
                return ids[i] < 0 || static_cast<std::int32_t>(i) >= real ? limit : ids[i];
            };
            std::stable_sort(expected.begin(), expected.end(),
                             [&](auto a, auto b) { return key(a) < key(b); });
            device::copy(ctx, CudaView<const std::uint32_t>(sorted.order, order.size()),
                         view_of(order));
            ctx.synchronize();
            CHECK(order == expected);
        }
}

TEST_CASE_TEMPLATE("CUDA's embedding is the CPU's, with zeros in filler rows", T, float, bf16,
                   fp16) {
    constexpr std::int64_t vocabulary = 50, count = 90, real = 80;
    CudaContext ctx(0);
    CpuContext cpu(1);
    const Ids tokens = ids_of(count, vocabulary, 1), positions = ids_of(count, 7, 2);
    const OnDevice on_tokens(ctx, tokens), on_positions(ctx, positions);
    const Ids real_tokens{real};
    const OnDevice on_real(ctx, real_tokens);
    for (const std::int64_t cols : awkward_columns) {
        const auto table = random_numbers<T>(vocabulary * cols, 3),
                   coordinates = random_numbers<T>(7 * cols, 4);
        const OnDevice on_table(ctx, table), on_places(ctx, coordinates),
            y(ctx, unwritten<T>(count * cols));
        kernels::embedding_forward<T>(ctx, {.tokens = on_tokens.view(),
                                            .positions = on_positions.view(),
                                            .real = on_real.view(),
                                            .scale = 3.0f,
                                            .table = on_table.matrix(vocabulary, cols),
                                            .position_table = on_places.matrix(7, cols),
                                            .y = y.matrix(count, cols)});
        auto wide_table = widened(table), wide_places = widened(coordinates);
        std::vector<float> expected(static_cast<std::size_t>(count * cols));
        kernels::embedding_forward<float>(cpu, {.tokens = view_of(tokens),
                                                .positions = view_of(positions),
                                                .real = view_of(real_tokens),
                                                .scale = 3.0f,
                                                .table = matrix_of(wide_table, vocabulary, cols),
                                                .position_table = matrix_of(wide_places, 7, cols),
                                                .y = matrix_of(expected, count, cols)});
        require_close(y.values(), expected);
    }
}

TEST_CASE_TEMPLATE("CUDA's embedding gradient is the CPU's, and the same at each call", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const std::int32_t real : {1, 33, 300})
        for (const std::int32_t vocabulary : {1, 3, 400})
            for (const std::int64_t cols : awkward_columns) {
                const Ids tokens = ids_of(real + 5, vocabulary, 1), real_tokens{real};
                const auto dy = random_numbers<T>((real + 5) * cols, 2);
                auto wide = widened(dy);
                std::vector<float> expected(static_cast<std::size_t>(vocabulary * cols), 1.0f);
                const OnDevice on_tokens(ctx, tokens), on_real(ctx, real_tokens), on_dy(ctx, dy);
                const OnDevice d_table(ctx, expected), again(ctx, expected);
                for (const auto* to : {&d_table, &again})
                    kernels::embedding_backward<T>(ctx, {.tokens = on_tokens.view(),
                                                         .real = on_real.view(),
                                                         .scale = 3.0f,
                                                         .dy = on_dy.matrix(real + 5, cols),
                                                         .d_table = to->matrix(vocabulary, cols),
                                                         .into = kernels::Into::add});
                kernels::embedding_backward<float>(
                    cpu, {.tokens = view_of(tokens),
                          .real = view_of(real_tokens),
                          .scale = 3.0f,
                          .dy = matrix_of(wide, real + 5, cols),
                          .d_table = matrix_of(expected, vocabulary, cols),
                          .into = kernels::Into::add});
                require_close(d_table.values(), expected, real, 12);
                CHECK(same_bits(d_table.values(), again.values()));
            }
}

TEST_CASE_TEMPLATE("an embedding gradient by slots is that of the rows they stand for", T, float,
                   bf16, fp16) {
    constexpr std::int32_t vocabulary = 400, named = 3, real = 300;
    CudaContext ctx(0);
    CpuContext cpu(1);
    Ids slots(vocabulary, -1);
    const Ids tokens_of_slot{7, 8, 250};
    for (std::int32_t slot = 0; slot < named; ++slot)
        slots[static_cast<std::size_t>(tokens_of_slot[static_cast<std::size_t>(slot)])] = slot;
    Ids tokens = ids_of(real + 5, named, 1);
    for (auto& token : tokens) token = tokens_of_slot[static_cast<std::size_t>(token)];
    const Ids real_tokens{real};
    const OnDevice on_tokens(ctx, tokens), on_real(ctx, real_tokens), on_slots(ctx, slots);
    for (const std::int64_t cols : awkward_columns) {
        const auto dy = random_numbers<T>((real + 5) * cols, 2);
        auto wide = widened(dy);
        const OnDevice on_dy(ctx, dy);
        const OnDevice all(ctx, std::vector<float>(static_cast<std::size_t>(vocabulary * cols)));
        const OnDevice few(ctx, std::vector<float>(static_cast<std::size_t>(named * cols)));
        const auto backward = [&](const auto& table, std::int64_t rows, auto by) {
            kernels::embedding_backward<T>(ctx, {.tokens = on_tokens.view(),
                                                 .real = on_real.view(),
                                                 .scale = 3.0f,
                                                 .dy = on_dy.matrix(real + 5, cols),
                                                 .d_table = table.matrix(rows, cols),
                                                 .into = kernels::Into::add,
                                                 .slots = by});
        };
        backward(all, vocabulary, CudaView<const std::int32_t>{});
        backward(few, named, on_slots.const_view());
        std::vector<float> by_cpu(static_cast<std::size_t>(named * cols));
        kernels::embedding_backward<float>(cpu, {.tokens = view_of(tokens),
                                                 .real = view_of(real_tokens),
                                                 .scale = 3.0f,
                                                 .dy = matrix_of(wide, real + 5, cols),
                                                 .d_table = matrix_of(by_cpu, named, cols),
                                                 .into = kernels::Into::add,
                                                 .slots = const_view_of(slots)});
        require_close(few.values(), by_cpu, real, 12);
        kernels::add_gathered_rows(ctx, on_slots.const_view(), few.matrix(named, cols),
                                   all.matrix(vocabulary, cols));
        auto twice = all.values();
        for (std::int32_t token = 0; token < vocabulary; ++token)
            for (std::int64_t j = 0; j < cols; ++j) {
                const std::int64_t slot = slots[static_cast<std::size_t>(token)];
                const float sum = twice[static_cast<std::size_t>(token * cols + j)];
                const float part =
                    slot < 0 ? 0 : few.values()[static_cast<std::size_t>(slot * cols + j)];
                REQUIRE(sum == 2 * part);
            }
    }
}

TEST_CASE_TEMPLATE("CUDA's position gradient is the CPU's, and that of an embedding by position", T,
                   float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    constexpr std::int32_t limit = 40;
    for (const int sequences : {1, 7, 300})
        for (const std::int64_t cols : awkward_columns) {
            Ids offsets{0}, positions;
            for (int s = 0; s < sequences; ++s) {
                const std::int32_t length = s == 3 ? limit : s * s % 9;
                for (std::int32_t p = 0; p < length; ++p) positions.push_back(p);
                offsets.push_back(static_cast<std::int32_t>(positions.size()));
            }
            const Ids real{static_cast<std::int32_t>(positions.size())};
            positions.resize(positions.size() + 5);  // filler
            const auto rows = static_cast<std::int64_t>(positions.size());
            const auto dy = random_numbers<T>(rows * cols, 2);
            auto wide = widened(dy);
            const OnDevice on_offsets(ctx, offsets);
            const OnDevice on_dy(ctx, dy);
            for (const auto into : {kernels::Into::add, kernels::Into::overwrite}) {
                std::vector<float> expected(static_cast<std::size_t>(limit * cols), 1.0f);
                auto by_cpu = expected;
                const OnDevice d_table(ctx, expected);
                kernels::embedding_backward<float>(cpu,
                                                   {.tokens = view_of(positions),
                                                    .real = view_of(real),
                                                    .scale = 1.0f,
                                                    .dy = matrix_of(wide, rows, cols),
                                                    .d_table = matrix_of(expected, limit, cols),
                                                    .into = into});
                kernels::position_backward<float>(cpu, view_of(offsets),
                                                  matrix_of(wide, rows, cols),
                                                  matrix_of(by_cpu, limit, cols), into);
                CHECK(same_bits(by_cpu, expected));
                kernels::position_backward<T>(ctx, on_offsets.view(), on_dy.matrix(rows, cols),
                                              d_table.matrix(limit, cols), into);
                require_close(d_table.values(), expected, sequences, 12);
            }
        }
}

TEST_CASE("CUDA's embedding makes NaN of ids outside of its tables, and has no gradient for them") {
    CudaContext ctx(0);
    const OnDevice<std::int32_t> tokens(ctx, {0, 3, -1}), positions(ctx, {0, 0, 0});
    const OnDevice<std::int32_t> real(ctx, {3});
    const OnDevice<float> table(ctx, {1, 2, 3}), place(ctx, {10}), y(ctx, {0, 0, 0});
    kernels::embedding_forward<float>(ctx, {.tokens = tokens.view(),
                                            .positions = positions.view(),
                                            .real = real.view(),
                                            .scale = 1.0f,
                                            .table = table.matrix(3, 1),
                                            .position_table = place.matrix(1, 1),
                                            .y = y.matrix(3, 1)});
    CHECK(y.values()[0] == 11);
    CHECK(std::isnan(y.values()[1]));
    CHECK(std::isnan(y.values()[2]));
    const OnDevice<float> dy(ctx, {1, 1, 1}), d_table(ctx, {0, 0, 0});
    kernels::embedding_backward<float>(ctx, {.tokens = tokens.view(),
                                             .real = real.view(),
                                             .scale = 2.0f,
                                             .dy = dy.matrix(3, 1),
                                             .d_table = d_table.matrix(3, 1),
                                             .into = kernels::Into::add});
    CHECK(d_table.values() == std::vector<float>{2, 0, 0});
    const OnDevice unknown(ctx, unwritten<float>(3));
    kernels::embedding_backward<float>(ctx, {.tokens = tokens.view(),
                                             .real = real.view(),
                                             .scale = 2.0f,
                                             .dy = dy.matrix(3, 1),
                                             .d_table = unknown.matrix(3, 1),
                                             .into = kernels::Into::overwrite});
    CHECK(unknown.values() == std::vector<float>{2, 0, 0});
    kernels::embedding_backward<float>(ctx, {.tokens = {},
                                             .real = real.view(),
                                             .scale = 2.0f,
                                             .dy = dy.matrix(0, 1),
                                             .d_table = unknown.matrix(3, 1),
                                             .into = kernels::Into::overwrite});
    CHECK(unknown.values() == std::vector<float>{0, 0, 0});
}
