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

train::Parameter matrix(const char* name, int block, train::Tied tied) {
    train::Parameter parameter;
    parameter.name = name;
    parameter.shape = {10, 16};
    parameter.block = block;
    parameter.tied = tied;
    return parameter;
}

train::ParameterTable table_of(train::Tied tied) {
    train::ParameterTable table;
    table.add(matrix("layer", 0, train::Tied::no));
    table.add(matrix("table", 1, tied));
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

TEST_CASE("the table says whether it is tied, and GPUs with overlap sum a tied one in parts") {
    using train::Tied;
    const auto table = train::tied_table(table_of(Tied::yes));
    REQUIRE(table.has_value());
    CHECK(table->first == 256);
    CHECK(table->rows == 10);
    CHECK(table->count() == 160);
    CHECK(table->max_named() == 5);
    CHECK_FALSE(train::tied_table(table_of(Tied::no)).has_value());
    const auto sum = [](auto traits, Tied tied, int ranks, train::Overlap overlap) {
        train::ReducerOptions options;
        options.overlap = overlap;
        return train::with_table_sum<decltype(traits)>(options, table_of(tied), ranks).table_sum;
    };
    using train::Overlap;
    CHECK(sum(device::CudaTraits{}, Tied::yes, 2, Overlap::on) == TableSum::in_parts);
    CHECK(sum(device::CudaTraits{}, Tied::yes, 2, Overlap::off) == TableSum::at_once);
    CHECK(sum(device::CudaTraits{}, Tied::yes, 1, Overlap::on) == TableSum::at_once);
    CHECK(sum(device::CudaTraits{}, Tied::no, 2, Overlap::on) == TableSum::at_once);
    CHECK(sum(device::CpuTraits{}, Tied::yes, 2, Overlap::on) == TableSum::at_once);
}

TEST_CASE("a tied table is a matrix alone in the last of several blocks") {
    train::ParameterTable table;
    CHECK_THROWS_AS(table.add(matrix("first", 0, train::Tied::yes)), Error);
    table.add(matrix("layer", 0, train::Tied::no));
    CHECK_THROWS_AS(table.add(matrix("same block", 0, train::Tied::yes)), Error);
    auto vector = matrix("vector", 1, train::Tied::yes);
    vector.shape = {10};
    CHECK_THROWS_AS(table.add(vector), Error);
    table.add(matrix("table", 1, train::Tied::yes));
    CHECK_THROWS_AS(table.add(matrix("behind", 2, train::Tied::no)), Error);
}
