// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/text/text_chunks.hpp"

namespace lockstep::data {

// A unit is a part of a text that goes into one split as a whole: an episode, a conversation, a
// document or, if a document is a whole file, a stretch of its lines. Units never span files.

// Returns the plural of the unit's name.
std::string_view unit_name(const ReadOptions& read) noexcept;

// Finds where units begin. The result depends on the text alone, not on where chunks are cut.
class UnitBorders {
public:
    UnitBorders(const ReadOptions& read, std::int64_t block_size);

    // Returns the offset, in the chunk's text, of each line with which a unit begins. Chunks are
    // given in the order of reading.
    std::vector<std::size_t> begins(const TextChunk& chunk);

private:
    bool begins_unit(std::string_view line, std::uint64_t offset);
    bool begins_episode(std::string_view line);
    bool continues_numbers(std::string_view line);

    ReadOptions read_;
    std::uint64_t stretch_bytes_;
    std::uint32_t file_ = 0;
    std::uint64_t file_offset_ = 0;  // bytes of the file's text that earlier chunks held
    bool open_ = false;              // a unit has begun that the next line may belong to
    std::optional<std::int64_t> last_number_;
    std::uint64_t stretch_ = 0;
};

}  // namespace lockstep::data
