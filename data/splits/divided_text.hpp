// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/splits/unit_borders.hpp"
#include "data/splits/unit_split.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// Holds a chunk and the units that begin in it.
struct UnitChunk {
    TextChunk text;
    std::vector<std::size_t> begins;  // offsets in the text
    std::uint64_t units_before = 0;   // how many units began in earlier chunks
};

// Reads files in chunks, and numbers their units.
class UnitReader {
public:
    // Units that nobody needs are not looked for.
    enum class Units { found, ignored };

    UnitReader(const std::vector<std::string>& paths, const ReadOptions& read,
               std::int64_t block_size, Units looked_for);

    bool next(UnitChunk& chunk);
    std::uint64_t total_bytes() const noexcept { return reader_.total_bytes(); }
    std::uint64_t units() const noexcept { return units_; }  // that have begun so far

private:
    ChunkReader reader_;
    UnitBorders borders_;
    Units looked_for_;
    std::uint64_t units_ = 0;
};

// Holds whole units of one split that follow each other in a file.
struct SplitText {
    SplitPart part = SplitPart::train;
    TextChunk text;
};

// Says how files are divided into splits.
struct TextDivision {
    const UnitSplit* units = nullptr;  // null: `whole` gets all
    SplitPart whole = SplitPart::train;

    UnitReader::Units looked_for() const noexcept {
        return units != nullptr ? UnitReader::Units::found : UnitReader::Units::ignored;
    }
};

// Counts the units of the files in a pass over their lines.
std::uint64_t count_units(const std::vector<std::string>& paths, const ReadOptions& read,
                          std::int64_t block_size, Log& log);

// Returns the text of the chunk in its order. Line numbers and bytes that were read are kept.
std::vector<SplitText> divided(UnitChunk&& chunk, const TextDivision& division);

}  // namespace lockstep::data
