// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/text/checked_turns.hpp"

namespace lockstep::data {

// Reads ParlAI's text format: one turn per line, fields "key:value" separated by tabs.
void read_parlai_text(const TextChunk& chunk, Warnings& warnings, CheckedTurns& turns);

// Returns true for any non-empty value of episode_done, even False, as in ParlAI.
bool parlai_line_ends_episode(std::string_view line) noexcept;

}  // namespace lockstep::data
