// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/text/checked_turns.hpp"

namespace lockstep::data {

// Reads OpenAI's chat data: one JSON object per line, {"messages": [{"role": ..., "content": ...},
// ...]}. The assistant's messages are labels; all other messages, and the assistant's messages of
// weight 0, are context.
void read_messages(const TextChunk& chunk, Texts form, Warnings& warnings, CheckedTurns& turns);

}  // namespace lockstep::data
