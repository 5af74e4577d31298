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
    failed,   // by an error of its own
    cut_off,  // by an error that says that another rank failed
    left,     // at the end of its work
};

// What a rank tells the others of itself, again and again.
struct WatchRecord {
    std::string host;
    std::int64_t process = 0;
    std::int64_t beat = 0;  // of how many tellings this is the last
    Condition condition = Condition::running;
    std::int64_t step = 0;
    std::string phase;
    std::string operation;        // of the communicator; empty: none
    bool waiting = false;         // for that operation, and for nothing else
    std::uint64_t completed = 0;  // operations
    std::int64_t still_ms = 0;    // since it last moved on
    WindowPace window;            // the last whole one
    std::string error, stack;     // of its main thread, once it is still for long

    // `waiting in all_reduce "bucket 3", step 12`
    std::string position() const;
};

std::string encode(const WatchRecord& record);
// Empty where the text is none.
std::optional<WatchRecord> decode_watch_record(std::string_view text);

}  // namespace lockstep::comm
