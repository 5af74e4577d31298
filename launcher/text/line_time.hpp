// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace lockstep::launcher {

// Returns the time here for the beginning of a line: "2026-03-01T12:00:00+01:00 ".
std::string line_time();
// Tells whether a text begins with such a time.
bool begins_with_time(std::string_view text);

// The variable LOCKSTEP_LOG_TIMES says before which lines a program that logs puts the time: 1 for
// standard output, 2 for standard error, 3 for both. Launchers set it for ranks that write to
// files.
inline constexpr const char* log_times_variable = "LOCKSTEP_LOG_TIMES";
enum class TimedStream { output = 1, error = 2 };
bool has_times(TimedStream stream);

// Puts the time before each line of a stream while it lives, if the variable asks for that.
// nullptr: does nothing.
class TimedLines {
public:
    explicit TimedLines(std::ostream* stream);
    TimedLines(const TimedLines&) = delete;
    TimedLines& operator=(const TimedLines&) = delete;
    ~TimedLines();

private:
    std::ostream* stream_;
    std::streambuf* before_ = nullptr;
    std::unique_ptr<std::streambuf> timed_;
};

}  // namespace lockstep::launcher
