// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/chart.hpp"

#include <algorithm>
#include <set>

#include "launcher/report/charts/chart_strips.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/charts/plot.hpp"

namespace lockstep::launcher::report {

namespace {

enum class Band { shown, left_out };

// Holds the lowest and highest drawn value.
struct Range {
    double low = 0, high = 0;
    bool empty = true;

    void add(double value) {
        low = empty ? value : std::min(low, value);
        high = empty ? value : std::max(high, value);
        empty = false;
    }
};

Range range_of(const Chart& chart, Band band) {
    Range range;
    for (const Curve& curve : chart.curves) {
        for (const Bin& bin : curve.series->bins()) {
            if (!is_drawn(chart, bin)) continue;
            range.add(chart.factor * (band == Band::shown ? bin.low : bin.mean()));
            range.add(chart.factor * (band == Band::shown ? bin.high : bin.mean()));
        }
    }
    return range;
}

using Bins = std::vector<Bin>;

// Splits a curve at its gaps.
std::vector<Bins> stretches(const Chart& chart, const Series& series) {
    std::vector<Bins> all(1);
    for (const Bin& bin : series.bins()) {
        if (is_drawn(chart, bin)) {
            all.back().push_back(bin);
        } else if (!all.back().empty()) {
            all.emplace_back();
        }
    }
    if (all.back().empty()) all.pop_back();
    return all;
}

std::string point(const Plot& plot, double place, double value) {
    return coordinate(plot.x(place)) + "," + coordinate(plot.y(value)) + " ";
}

std::string path(const std::string& kind, int colour, const std::string& drawn) {
    return "<path class=\"" + kind + " c" + std::to_string(colour) + "\" d=\"" + drawn + "\"/>\n";
}

std::string line(const Plot& plot, const Chart& chart, const Curve& curve) {
    std::string drawn, lone;
    for (const Bins& stretch : stretches(chart, *curve.series)) {
        std::string points = "M";
        for (const Bin& bin : stretch) points += point(plot, bin.x(), chart.factor * bin.mean());
        if (stretch.size() == 1) {
            lone += points + "h0";  // the round ends of lines draw a dot
        } else {
            drawn += points;
        }
    }
    return (drawn.empty() ? "" : path("line", curve.colour, drawn)) +
           (lone.empty() ? "" : path("lone", curve.colour, lone));
}

std::string dots(const Plot& plot, const Chart& chart, const Curve& curve) {
    std::string drawn;
    for (const Bin& bin : curve.series->bins()) {
        if (is_drawn(chart, bin))
            drawn += "M" + point(plot, bin.x(), chart.factor * bin.mean()) + "h0";
    }
    return path("dots", curve.colour, drawn);
}

std::string band(const Plot& plot, const Chart& chart, const Curve& curve) {
    std::string drawn;
    for (const Bins& stretch : stretches(chart, *curve.series)) {
        if (stretch.size() == 1) continue;
        drawn += "M";
        for (const Bin& bin : stretch) drawn += point(plot, bin.x(), chart.factor * bin.high);
        for (auto bin = stretch.rbegin(); bin != stretch.rend(); ++bin)
            drawn += point(plot, bin->x(), chart.factor * bin->low);
        drawn += "z";
    }
    return path("band", curve.colour, drawn);
}

bool one_line(const Chart& chart) {
    return std::count_if(chart.curves.begin(), chart.curves.end(),
                         [](const Curve& curve) { return curve.mark == Mark::line; }) == 1;
}

// Curves of one colour share one entry, that of the first curve.
std::string legend(const std::vector<Curve>& curves) {
    std::string html;
    std::set<int> colours;
    for (const Curve& curve : curves) {
        if (colours.insert(curve.colour).second) html += legend_key(curve.colour, curve.label);
    }
    return html;
}

}  // namespace

Axis axis_of(const Reach& reach) {
    return reach.abscissa == Abscissa::steps ? step_axis(reach.last) : axis_until(reach.last);
}

std::string chart(const Chart& given, const Reach& reach) {
    Chart chart = given;
    std::erase_if(chart.curves, [](const Curve& curve) { return curve.series->values() == 0; });
    const Band spread = one_line(chart) ? Band::shown : Band::left_out;
    const Range range = range_of(chart, spread);
    if (range.empty) return "";
    const Plot plot{reach.abscissa, axis_of(reach), value_axis(chart.scale, range.low, range.high)};
    std::string svg = begin_plot(plot, chart.title, chart.unit);
    for (const Curve& curve : chart.curves) {
        if (curve.mark == Mark::dots) {
            svg += dots(plot, chart, curve);
        } else {
            if (spread == Band::shown) svg += band(plot, chart, curve);
            svg += line(plot, chart, curve);
        }
    }
    svg += strips(plot, chart_strips(chart, reach)) + end_plot();
    return figure(chart.title, legend(chart.curves), svg, chart.caption);
}

}  // namespace lockstep::launcher::report
