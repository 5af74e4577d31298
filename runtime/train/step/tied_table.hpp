// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/core/view.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// An embedding table that input and output share: [rows, cols] from element `first` on.
struct TiedTable {
    std::size_t first = 0;
    std::int64_t rows = 0, cols = 0;

    std::size_t count() const noexcept { return static_cast<std::size_t>(rows * cols); }
    // Rows that may be named before it is summed at once: half of them, so that at most one and a
    // half tables travel, and half a one at the end.
    std::int64_t max_named() const noexcept { return rows / 2; }
};

// The last parameter, where it is a matrix and the last of several blocks.
std::optional<TiedTable> tied_table(const ParameterTable& table);

// How so many ranks sum it on devices of these traits (device/traits.hpp). Without overlap nothing
// is sent early.
template <class Traits>
ReducerOptions with_table_sum(ReducerOptions options, const ParameterTable& table, int ranks) {
    const bool in_parts = Traits::parts_tied_table && ranks > 1 && options.overlap == Overlap::on &&
                          tied_table(table).has_value();
    options.table_sum = in_parts ? TableSum::in_parts : TableSum::at_once;
    return options;
}

// What a TiedRows of it takes of its device's memory.
std::size_t tied_rows_bytes(const TiedTable& table);

// Which of a table's rows tokens name, on any of several ranks.
class NamedRows {
public:
    // At most 65,535 ranks.
    NamedRows(std::int64_t rows, int ranks);

    // Begins anew with the tokens of this rank's batch, none where it is null. Tokens outside the
    // table name nothing.
    void name(const Batch* batch);
    // To be summed over all ranks: a counter of 16 bits for each row, four in a word.
    View<std::uint64_t, HostSpace> counters() { return view_of(counters_); }
    // Then: gives the named rows slots, in order, and returns how many there are.
    std::int64_t assign_slots();
    // Of each row, -1 where it was not named.
    View<const std::int32_t, HostSpace> slots() const { return view_of(slots_); }

private:
    void name(const RaggedTokens& side);

    std::vector<std::uint64_t> counters_;
    std::vector<std::int32_t> slots_;
};

}  // namespace lockstep::train
