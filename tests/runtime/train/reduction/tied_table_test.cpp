// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/tied_table.hpp"

#include <doctest/doctest.h>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/traits.hpp"

using namespace lockstep;
using train::TableSum;

namespace {

using Slots = std::vector<std::int32_t>;

train::RaggedTokens side_of(Slots tokens, std::int32_t real) {
    train::RaggedTokens side;
    side.tokens = std::move(tokens);
    side.offsets = {0, real};
    return side;
}

train::ParameterTable table_of(int block_of_last) {
    train::ParameterTable table;
    table.add("layer", {4, 16}, 0, train::WeightDecay::apply);
    table.add("table", {10, 16}, block_of_last, train::WeightDecay::apply);
    return table;
}

}  // namespace

TEST_CASE("the rows that tokens of any rank name get slots, in order") {
    for (const int ranks : {1, 2, 3, 7})
        comm::run_as_threads(ranks, [&](comm::Communicator& communicator) {
            train::NamedRows names(10, ranks);
            train::Batch batch;
            batch.source = side_of({8, 8, 5, 9}, 3);  // 9 is filler
            batch.target = side_of({communicator.rank(), 10, -1, 3}, 4);
            for (int step = 0; step < 2; ++step) {
                const bool names_some = communicator.rank() != 1 && step == 0;
                names.name(names_some ? &batch : nullptr);
                communicator.all_reduce(names.counters(), comm::ReduceOp::sum, "names");
                communicator.finish();
                Slots expected(10, -1);
                std::int32_t count = 0;
                for (std::int32_t row = 0; row < 10 && step == 0; ++row)
                    if (row == 3 || row == 5 || row == 8 || (row < ranks && row != 1))
                        expected[static_cast<std::size_t>(row)] = count++;
                CHECK(names.assign_slots() == count);
                CHECK(Slots(names.slots().begin(), names.slots().end()) == expected);
            }
        });
}

TEST_CASE("counters of many ranks do not run over into those of other rows") {
    constexpr int ranks = 65535;
    train::NamedRows names(10, ranks);
    train::Batch batch;
    batch.target = side_of({5}, 1);
    names.name(&batch);
    for (std::uint64_t& word : names.counters()) word *= ranks;  // all ranks name the same tokens
    CHECK(names.assign_slots() == 1);
    CHECK(names.slots()[5] == 0);
    CHECK_THROWS_AS(train::NamedRows(10, ranks + 1), Error);
}

TEST_CASE("a tied table is the last of several blocks, and GPUs with overlap sum it in parts") {
    const auto table = train::tied_table(table_of(1));
    REQUIRE(table.has_value());
    CHECK(table->first == 256);
    CHECK(table->rows == 10);
    CHECK(table->count() == 160);
    CHECK(table->max_named() == 5);
    CHECK_FALSE(train::tied_table(table_of(0)).has_value());
    const auto sum = [](auto traits, int block, int ranks, train::Overlap overlap) {
        train::ReducerOptions options;
        options.overlap = overlap;
        return train::with_table_sum<decltype(traits)>(options, table_of(block), ranks).table_sum;
    };
    using train::Overlap;
    CHECK(sum(device::CudaTraits{}, 1, 2, Overlap::on) == TableSum::in_parts);
    CHECK(sum(device::CudaTraits{}, 1, 2, Overlap::off) == TableSum::at_once);
    CHECK(sum(device::CudaTraits{}, 1, 1, Overlap::on) == TableSum::at_once);
    CHECK(sum(device::CudaTraits{}, 0, 2, Overlap::on) == TableSum::at_once);
    CHECK(sum(device::CpuTraits{}, 1, 2, Overlap::on) == TableSum::at_once);
}
