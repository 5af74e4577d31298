// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/text/turns.hpp"

namespace lockstep::data {

// ParlAI's text format: a turn a line, fields "key:value" separated by tabs.
void read_parlai_text(const TextChunk& chunk, Warnings& warnings, TurnSink& sink);

// As ParlAI has it: any value of episode_done but the empty one, even False.
bool parlai_line_ends_episode(std::string_view line) noexcept;

}  // namespace lockstep::data
