// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/comm/watch/step_times.hpp"

namespace lockstep::comm {

enum class Condition : int {
    running,
    failed,   // ended by an error of its own
    cut_off,  // ended by an error that another rank caused
    left,     // ended after its work
};

// Holds the state that a rank publishes about itself at regular intervals.
struct WatchRecord {
    std::string host;
    std::int64_t process = 0;
    std::int64_t beat = 0;  // number of this record
    Condition condition = Condition::running;
    std::int64_t step = 0;
    std::string phase;
    std::string file;             // the file that the rank waits for; empty: none, or not known
    std::string operation;        // the communicator's operation; empty: none
    bool waiting = false;         // waits for that operation and nothing else
    std::uint64_t completed = 0;  // finished operations
    std::int64_t still_ms = 0;    // time since the last progress
    WindowPace window;            // the last complete window
    std::int64_t peak_bytes = 0;  // the most memory of the host that the process has had
    std::string error, stack;     // stack: of the main thread after a long standstill

    // Returns a text such as `waiting in all_reduce "bucket 3", step 12`.
    std::string position() const;
};

std::string encode(const WatchRecord& record);
// Returns an empty result if the text is not a record.
std::optional<WatchRecord> decode_watch_record(std::string_view text);

}  // namespace lockstep::comm
