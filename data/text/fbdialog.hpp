// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/text/checked_turns.hpp"

namespace lockstep::data {

// Reads the FbDialog format, which ConvAI2 uses too: "N
// text[<TAB>label1|label2[<TAB>reward[<TAB>candidates]]]". A new episode begins if N does not grow.
// Lines without a label join the next text.
void read_fbdialog(const TextChunk& chunk, Warnings& warnings, CheckedTurns& turns);

// Returns nothing if the line does not begin with a number.
std::optional<std::int64_t> fbdialog_line_number(std::string_view line) noexcept;

}  // namespace lockstep::data
