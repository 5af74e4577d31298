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

// Takes what a dialogue reader finds, in order. The views live until the call returns.
class TurnSink {
public:
    virtual ~TurnSink() = default;
    virtual void begin_episode() = 0;
    // A turn without labels gives no example.
    virtual void turn(std::string_view text, std::span<const std::string_view> labels,
                      const SourceLine& place) = 0;
};

// Warnings about the input, each kind once in a run. Safe from several threads.
class Warnings {
public:
    explicit Warnings(Log& log) : log_(log) {}

    // `kind` is what is said; the first place is named.
    void once(const std::string& kind, const SourceLine& place);

private:
    Log& log_;
    std::mutex mutex_;
    std::set<std::string> said_;
};

// Reads a chunk of dialogues in the given format; throws a data error that names file and line.
void read_turns(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                TurnSink& sink);

}  // namespace lockstep::data
