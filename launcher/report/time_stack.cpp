// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/time_stack.hpp"

#include <algorithm>
#include <numeric>

#include "launcher/report/charts/chart.hpp"
#include "launcher/report/charts/chart_strips.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/charts/plot.hpp"
#include "launcher/report/time_parts.hpp"

namespace lockstep::launcher::report {

namespace {

// A column of the stacked picture shows one bin.
struct Column {
    double first, last;
    std::vector<double> shares;
};

std::vector<Column> columns_of(const History& history) {
    std::vector<Column> columns;
    double before = 0;
    for (std::size_t i = 0; i < history.train("seconds").bins().size(); ++i) {
        const double last = history.train("seconds").bins()[i].last_x;
        columns.push_back({before, last, shares_of(seconds_of_bin(history, i))});
        before = last;
    }
    return columns;
}

// Returns the area of `part`, between the sum of the parts below it and the sum that includes it.
std::string area(const Plot& plot, const std::vector<Column>& columns, std::size_t part) {
    std::string above = "M" + coordinate(plot.x(0)) + "," + coordinate(plot.y(0)), below;
    for (const Column& column : columns) {
        const auto from = column.shares.begin();
        const double under = std::accumulate(from, from + static_cast<std::ptrdiff_t>(part), 0.0);
        const double y = plot.y(100 * (under + column.shares[part]));
        above += "V" + coordinate(y) + "H" + coordinate(plot.x(column.last));
        below.insert(
            0, "V" + coordinate(plot.y(100 * under)) + "H" + coordinate(plot.x(column.first)));
    }
    return "<path class=\"area c" + std::to_string(time_parts()[part].colour) + "\" d=\"" + above +
           below + "z\"/>\n";
}

std::string column_text(Abscissa abscissa, const Column& column) {
    const double after = abscissa == Abscissa::steps ? 1 : 0;
    std::string text =
        stretch_text(abscissa, std::min(column.first + after, column.last), column.last);
    for (std::size_t i = column.shares.size(); i-- > 0;)
        text += std::string("\n") + time_parts()[i].name + ": " + percent_text(column.shares[i]);
    return text;
}

std::vector<Strip> stack_strips(Abscissa abscissa, const std::vector<Column>& columns) {
    const std::size_t every = (columns.size() + max_strips - 1) / max_strips;
    std::vector<Strip> strips;
    for (std::size_t i = 0; i < columns.size(); i += every) {
        const std::size_t last = std::min(i + every, columns.size()) - 1;
        strips.push_back({columns[i].first, columns[last].last, column_text(abscissa, columns[i])});
    }
    return strips;
}

}  // namespace

std::string time_stack(const History& history) {
    const std::vector<Column> columns = columns_of(history);
    const Plot plot{history.abscissa(), axis_of({history.abscissa(), columns.back().last}),
                    value_axis(Scale::from_zero, 0, 100)};
    constexpr const char* title = "Time of the steps";
    std::string svg = begin_plot(plot, title, "% of the time");
    for (std::size_t part = 0; part < time_parts().size(); ++part) svg += area(plot, columns, part);
    svg += strips(plot, stack_strips(history.abscissa(), columns)) + end_plot();
    return figure(title, time_legend(), svg,
                  "Stacked from the bottom: the work of the model, then what is waited for. Much "
                  "waiting for data asks for more --num-workers; much communication that is not "
                  "hidden for another --bucket-mb or a larger --update-freq.");
}

}  // namespace lockstep::launcher::report
