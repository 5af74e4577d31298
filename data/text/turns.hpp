// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Receives the turns of a dialogue from a reader, in order. The views are valid until the call
// returns.
class TurnSink {
public:
    virtual ~TurnSink() = default;
    virtual void begin_episode() = 0;
    // A turn without labels gives no example.
    virtual void turn(std::string_view text, std::span<const std::string_view> labels,
                      const SourceLine& source_line) = 0;
};

// Reads a chunk of dialogues in the given format. Throws a data error that names file and line.
void read_turns(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                TurnSink& sink);

}  // namespace lockstep::data
