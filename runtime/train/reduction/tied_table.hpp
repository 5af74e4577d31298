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

// An embedding table that input and output share: [rows, cols] from element `first` of the flat
// buffer on.
struct TiedTable {
    std::size_t first = 0;
    std::int64_t rows = 0, cols = 0;

    std::size_t count() const noexcept { return static_cast<std::size_t>(rows * cols); }
    // If more than half of the rows are named, the table is summed at once. So at most one and a
    // half tables are sent, and at most half a table at the end.
    std::int64_t max_named() const noexcept { return rows / 2; }
};

// Returns the parameter that the table says is tied, if there is one.
std::optional<TiedTable> tied_table(const ParameterTable& table);

constexpr int max_naming_ranks = (1 << 16) - 1;  // each row has a counter of 16 bits

// Sets how this many ranks sum the table on devices with these traits (device/traits.hpp). Without
// overlap nothing is sent early, a fixed order of the lanes has one sum, and so has each
// micro-batch from stage 2 on.
template <class Traits>
ReducerOptions with_table_sum(ReducerOptions options, const ParameterTable& table, int ranks) {
    const bool in_parts = Traits::parts_tied_table && ranks > 1 && ranks <= max_naming_ranks &&
                          options.overlap == Overlap::on && options.lane_order == LaneOrder::any &&
                          table.stage() < 2 && tied_table(table).has_value();
    options.table_sum = in_parts ? TableSum::in_parts : TableSum::at_once;
    return options;
}

// Finds the rows of a table that are named by tokens on any of several ranks.
class NamedRows {
public:
    // There may be at most max_naming_ranks.
    NamedRows(std::int64_t rows, int ranks);

    // Starts again with the tokens of this rank's batch; null means that it has none. Tokens
    // outside the table are ignored.
    void name(const Batch* batch);
    // The caller sums these over all ranks: one counter of 16 bits for each row, four in a word.
    View<std::uint64_t, HostSpace> counters() { return view_of(counters_); }
    // Numbers the named rows in order and returns how many there are. Call it after the counters
    // were summed.
    std::int64_t assign_slots();
    // Returns each row's slot, -1 if it was not named.
    View<const std::int32_t, HostSpace> slots() const { return view_of(slots_); }

private:
    void name(const RaggedTokens& side);

    std::vector<std::uint64_t> counters_;
    std::vector<std::int32_t> slots_;
};

}  // namespace lockstep::train
