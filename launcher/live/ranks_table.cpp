// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/ranks_table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::live {

std::string excess_text(const RankState& rank) {
    if (rank.work_s <= 0) return "";
    constexpr double most = 99;  // times
    const double percent = std::round(100 * std::clamp(rank.excess, -1.0, most));
    return (percent < 0 ? "" : "+") + report::number_text(percent) + "%";
}

std::string ranks_table(const std::string& label, const RankStates& states) {
    if (states.ranks.empty()) return "";
    std::vector<report::Cells> rows;
    for (const RankState& rank : states.ranks) {
        const std::string work =
            rank.work_s > 0 ? seconds_text(rank.work_s) + " " + excess_text(rank) : "";
        rows.push_back({std::to_string(rank.rank), rank.host, std::to_string(rank.process),
                        grouped(rank.step), place_of(rank), work,
                        rank.peak_bytes > 0 ? bytes_text(rank.peak_bytes) : "", remark_on(rank)});
    }
    const std::string head = label.empty() ? "" : "<p><b>" + report::escaped(label) + "</b></p>\n";
    return head + report::table(report::TableKind::words,
                                {"rank", "host", "process", "step", "place",
                                 "own work in a step, beside the median's", "peak memory", ""},
                                rows);
}

}  // namespace lockstep::launcher::live
