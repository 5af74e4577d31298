// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/text/turns.hpp"

namespace lockstep::data {

// The FbDialog format, also ConvAI2's: "N text[<TAB>label1|label2[<TAB>reward[<TAB>candidates]]]".
// A new episode begins where N does not grow; lines without a label join the next text.
void read_fbdialog(const TextChunk& chunk, TurnSink& sink);

// Empty when the line does not begin with a number.
std::optional<std::int64_t> fbdialog_line_number(std::string_view line) noexcept;

}  // namespace lockstep::data
