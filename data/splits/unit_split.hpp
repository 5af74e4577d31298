// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/splits/held_out.hpp"
#include "data/storage/shard_format.hpp"

namespace lockstep::data {

enum class SplitPart { train, valid, test };
const char* name(SplitPart part) noexcept;

// Chooses exactly `chosen` of the numbers 0 to `all` - 1. These numbers are divided into so many
// runs of nearly equal length, and one of each run is chosen at random. Every part of a sorted text
// is represented in this way.
class StratifiedSample {
public:
    StratifiedSample(std::uint64_t all, std::uint64_t chosen, std::uint64_t key) noexcept;

    // Returns the number of the run if `number` is the one that was chosen of it.
    std::optional<std::uint64_t> run_of(std::uint64_t number) const noexcept;
    std::uint64_t chosen() const noexcept { return chosen_; }

private:
    std::uint64_t chosen_, short_run_, long_runs_, key_;
};

// Says which split each unit of a text belongs to. This depends only on the unit's number, on how
// many there are, and on the fractions and the seed.
class UnitSplit {
public:
    // Throws a config error that begins with `path` if there are too few units: each split gets at
    // least one. `unit` is their name in the plural.
    UnitSplit(const HeldOut& wanted, std::uint64_t units, std::string_view unit,
              const std::string& path);

    SplitPart part_of(std::uint64_t number) const noexcept;
    std::uint64_t units() const noexcept { return units_; }
    std::uint64_t units(SplitPart part) const noexcept;

private:
    std::uint64_t units_;
    StratifiedSample held_out_;  // of the units
    StratifiedSample test_;      // of those that are held out
};

}  // namespace lockstep::data
