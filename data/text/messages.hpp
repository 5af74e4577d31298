// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/text/turns.hpp"

namespace lockstep::data {

// OpenAI's chat data: a JSON object a line, {"messages": [{"role": ..., "content": ...}, ...]}.
// The assistant's messages are labels; everything else, and its messages of weight 0, is context.
void read_messages(const TextChunk& chunk, Warnings& warnings, TurnSink& sink);

}  // namespace lockstep::data
