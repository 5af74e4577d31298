// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point begin, Clock::time_point end) noexcept {
    return std::chrono::duration<double>(end - begin).count();
}

// Records the activities of a rank and writes them as Chrome/Perfetto trace JSON: one process per
// rank, one track per name.
class Trace {
public:
    enum class Recording { off, on };

    Trace(Recording recording, int rank) : recording_(recording), rank_(rank) {}

    bool on() const noexcept { return recording_ == Recording::on; }
    // Adds a span. It is thread-safe, and does nothing if recording is off.
    void add(std::string_view track, std::string name, Clock::time_point begin,
             Clock::time_point end);
    // Writes `path`. Throws an io error that names it.
    void write(const std::string& path) const;

private:
    struct Span {
        std::string track, name;
        Clock::time_point begin, end;
    };

    Recording recording_;
    int rank_;
    mutable std::mutex mutex_;
    std::vector<Span> spans_;
};

}  // namespace lockstep
