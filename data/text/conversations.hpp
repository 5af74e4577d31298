// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/text/checked_turns.hpp"

namespace lockstep::data {

// Reads ParlAI's conversations: one JSON object per line, {"dialog": [[{"id": ..., "text": ...},
// ...], ...]}. A silence precedes the first turn, so that the turns of either speaker can be
// labels.
void read_conversations(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                        CheckedTurns& turns);

}  // namespace lockstep::data
