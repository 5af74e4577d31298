// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/trace.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep {

void Trace::add(std::string_view track, std::string name, Clock::time_point begin,
                Clock::time_point end) {
    if (!on()) return;
    const std::lock_guard lock(mutex_);
    spans_.push_back({std::string(track), std::move(name), begin, end});
}

void Trace::write(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> tracks;
    auto events = nlohmann::json::array();
    // steady_clock is the host's monotonic clock, so the traces of all ranks of a host line up.
    const auto microseconds = [](Clock::time_point t) {
        return std::chrono::duration<double, std::micro>(t.time_since_epoch()).count();
    };
    for (const Span& span : spans_) {
        const auto found = std::find(tracks.begin(), tracks.end(), span.track);
        const auto track = found - tracks.begin();
        if (found == tracks.end()) {
            tracks.push_back(span.track);
            events.push_back({{"ph", "M"},
                              {"name", "thread_name"},
                              {"pid", rank_},
                              {"tid", track},
                              {"args", {{"name", span.track}}}});
        }
        events.push_back({{"ph", "X"},
                          {"name", span.name},
                          {"cat", span.track},
                          {"pid", rank_},
                          {"tid", track},
                          {"ts", microseconds(span.begin)},
                          {"dur", microseconds(span.end) - microseconds(span.begin)}});
    }
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", rank_},
                      {"args", {{"name", "rank " + std::to_string(rank_)}}}});
    std::ofstream out(path);
    if (!out) throw_errno("cannot be written", path);
    out << dump_json(nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}) << '\n';
    if (!out.flush()) throw_errno("cannot be written", path);
}

}  // namespace lockstep
