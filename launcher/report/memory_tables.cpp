// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/memory_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/text/units.hpp"
#include "runtime/train/reduction/reduction_timing.hpp"

namespace lockstep::launcher::report {

namespace {

struct Group {
    const char* name;
    const char* what;
};

constexpr std::array<Group, 5> groups{
    Group{"weights", "weights, gathered among the ranks that share a replica"},
    Group{"gradients", "gradients, summed among these ranks"},
    Group{"replicas", "gradients, summed between replicas"},
    Group{"tensor", "rows and shared gradients, among the ranks that compute each layer together"},
    Group{"pipeline", "rows and a tied table's gradient, among the stages"}};

std::int64_t whole_bytes(double value) {
    constexpr double most = 1e18;
    return static_cast<std::int64_t>(std::clamp(std::round(value), 0.0, most));
}

// Of many ranks only the extremes are told.
void add_seen(const std::vector<std::int64_t>& bytes, const char* of_first, const char* of_others,
              std::vector<Cells>& rows) {
    if (bytes.empty()) return;
    rows.push_back({of_first, bytes_text(bytes.front())});
    if (bytes.size() == 1) return;
    const auto [lowest, highest] = std::minmax_element(bytes.begin() + 1, bytes.end());
    rows.push_back({of_others, *lowest == *highest
                                   ? bytes_text(*highest)
                                   : bytes_text(*lowest) + " to " + bytes_text(*highest)});
}

}  // namespace

std::string memory_table(const Run& run) {
    if (!run.memory) return "";
    std::vector<Cells> rows;
    std::int64_t planned = 0;
    for (const auto& [name, bytes] : run.memory->parts) {
        rows.push_back({name, bytes_text(bytes)});
        planned += std::clamp(bytes, std::int64_t{0}, std::int64_t{1} << 50);
    }
    if (!rows.empty()) rows.push_back({"all of rank 0, as planned", bytes_text(planned)});
    add_seen(run.memory->on_gpus, "seen: memory of rank 0's GPU that all processes used at the end",
             "seen: the same of the other ranks' GPUs", rows);
    add_seen(run.memory->peaks, "seen: the peak of rank 0 in its host's memory",
             "seen: the peaks of the other ranks", rows);
    return rows.empty() ? "" : table(TableKind::numbers, {"part", "memory"}, rows);
}

std::string traffic_table(const Run& run) {
    std::vector<Cells> rows;
    for (const auto& [name, what] : groups) {
        const auto sum = [&](const std::string& key) {
            const Series& series = run.history.train(key);
            return series.values() == 0 ? 0 : series.total();
        };
        const std::string seconds = std::string("seconds_") + name;
        const double bytes = sum(std::string("bytes_") + name), time = sum(seconds);
        if (!(bytes > 0)) continue;
        const auto steps = static_cast<double>(std::max<std::int64_t>(1, run.history.step()));
        const auto hidden = train::hidden_share(sum(seconds + "_not_hidden"), time);
        rows.push_back({what, bytes_text(whole_bytes(bytes / steps)),
                        bytes_text(whole_bytes(bytes)), seconds_text(time),
                        hidden ? percent_text(*hidden) : "–"});
    }
    if (rows.empty()) return "";
    return table(TableKind::numbers, {"group", "sent in a step", "in all", "on its way", "hidden"},
                 rows);
}

}  // namespace lockstep::launcher::report
