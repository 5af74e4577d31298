// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "data/text/text_chunks.hpp"
#include "runtime/core/log.hpp"

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

// Prints warnings about the input, each kind once per run. Safe from several threads.
class Warnings {
public:
    explicit Warnings(Log& log) : log_(log) {}

    // `kind` is the text of the warning. The message names the first `source_line` of the kind.
    void once(const std::string& kind, const SourceLine& source_line);

private:
    Log& log_;
    std::mutex mutex_;
    std::set<std::string> said_;
};

// Reads a chunk of dialogues in the given format. Throws a data error that names file and line.
void read_turns(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                TurnSink& sink);

}  // namespace lockstep::data
