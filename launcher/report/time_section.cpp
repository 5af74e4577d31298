// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/time_section.hpp"

#include <algorithm>

#include "launcher/report/charts/chart.hpp"
#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/charts/plot.hpp"
#include "launcher/report/curves.hpp"
#include "launcher/report/time_parts.hpp"
#include "launcher/report/time_stack.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::report {

namespace {

std::string bar(const std::vector<double>& shares, const std::string& label) {
    std::string svg = "<p class=\"bar-label\">" + escaped(label) +
                      "</p>\n<svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" "
                      "role=\"img\" aria-label=\"" +
                      escaped(label) + "\">\n";
    double from = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double to = from + 100 * shares[i];
        svg += "<rect class=\"area c" + std::to_string(time_parts()[i].colour) + "\" x=\"" +
               coordinate(from) + "\" width=\"" + coordinate(to - from) +
               "\" y=\"0\" height=\"4\"><title>" + escaped(time_parts()[i].name) + ": " +
               percent_text(shares[i]) + "</title></rect>\n";
        from = to;
    }
    return svg + "</svg>\n";
}

std::string bars(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    std::string html;
    for (std::size_t i = 0; i < runs.size(); ++i)
        html += bar(shares_of(seconds_of_run(runs[i].history)), labels[i]);
    return figure("Time of the steps, in all", time_legend(), html,
                  "Shares of each run's whole time. Much waiting for data asks for more "
                  "--num-workers; much communication that is not hidden for another --bucket-mb or "
                  "a larger --update-freq.");
}

std::string shares_table(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    Cells head{"part"};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        head.push_back(runs.size() == 1 ? "share" : labels[i]);
        if (runs.size() == 1) head.push_back("time");
    }
    head.push_back("what helps where it is much");
    std::vector<Cells> rows;
    for (const TimePart& part : time_parts()) rows.push_back({part.name});
    for (const Run& run : runs) {
        const std::vector<double> seconds = seconds_of_run(run.history);
        const std::vector<double> shares = shares_of(seconds);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].push_back(percent_text(shares[i]));
            if (runs.size() == 1) rows[i].push_back(seconds_text(seconds[i]));
        }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(time_parts()[i].remedy);
    std::reverse(rows.begin(), rows.end());
    return table(TableKind::words, head, rows);
}

std::string communication(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    Chart hidden{"Communication that was hidden",
                 "%",
                 "Share of the gradient exchanges that ran "
                 "while backward was still computing; the last bucket cannot.",
                 Scale::from_zero,
                 100,
                 {}};
    Chart last{"The last bucket",
               "% of the exchanges",
               "Its share of the exchanges' time: with a "
               "tied embedding that table, which is final last and cannot be hidden.",
               Scale::from_zero,
               100,
               {}};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const History& history = runs[i].history;
        const int colour = static_cast<int>(i);
        const std::string label = runs.size() == 1 ? "training" : labels[i];
        hidden.curves.push_back({label, colour, Mark::line, &history.train("hidden")});
        last.curves.push_back({label, colour, Mark::line, &history.train("last_bucket")});
    }
    const Reach reach = reach_of(runs);
    return chart(hidden, reach) + chart(last, reach);
}

}  // namespace

std::string time_section(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    const bool known = std::any_of(runs.begin(), runs.end(), [](const Run& run) {
        return run.history.train("seconds").values() > 0;
    });
    if (!known) return "<p>No training line tells of its time.</p>\n";
    return "<div class=\"charts\">\n" +
           (runs.size() == 1 ? time_stack(runs.front().history) : bars(runs, labels)) +
           communication(runs, labels) + "</div>\n" + shares_table(runs, labels);
}

}  // namespace lockstep::launcher::report
