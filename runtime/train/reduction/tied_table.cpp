// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/tied_table.hpp"

namespace lockstep::train {

namespace {

constexpr std::size_t counters_of_word = 4, counter_bits = 16;

constexpr std::size_t shift_of(std::size_t row) noexcept {
    return row % counters_of_word * counter_bits;
}

}  // namespace

std::optional<TiedTable> tied_table(const ParameterTable& table) {
    const auto& all = table.all();
    if (all.empty() || all.back().tied == Tied::no) return std::nullopt;
    const Parameter& last = all.back();
    return TiedTable{last.offset, last.shape[0], last.shape[1]};
}

NamedRows::NamedRows(std::int64_t rows, int ranks)
    : counters_((static_cast<std::size_t>(rows) + counters_of_word - 1) / counters_of_word),
      slots_(static_cast<std::size_t>(rows)) {
    require(ranks <= max_naming_ranks, "named rows: too many ranks for their counters");
}

void NamedRows::name(const Batch* batch) {
    counters_.assign(counters_.size(), 0);
    if (batch == nullptr) return;
    name(batch->source);
    name(batch->target);
}

void NamedRows::name(const RaggedTokens& side) {
    const auto real = static_cast<std::size_t>(side.real());
    for (std::size_t i = 0; i < real; ++i) {
        // a negative token becomes very large
        const auto row = static_cast<std::size_t>(side.tokens[i]);
        if (row < slots_.size())
            counters_[row / counters_of_word] |= std::uint64_t{1} << shift_of(row);
    }
}

std::int64_t NamedRows::assign_slots() {
    constexpr std::uint64_t counter = (std::uint64_t{1} << counter_bits) - 1;
    std::int32_t slots = 0;
    for (std::size_t row = 0; row < slots_.size(); ++row) {
        const std::uint64_t word = counters_[row / counters_of_word];
        slots_[row] = (word >> shift_of(row) & counter) != 0 ? slots++ : -1;
    }
    return slots;
}

}  // namespace lockstep::train
