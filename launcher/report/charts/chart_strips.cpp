// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/chart_strips.hpp"

#include <algorithm>

#include "launcher/report/charts/numbers.hpp"

namespace lockstep::launcher::report {

namespace {

// Returns the x positions of all drawn bins, in order.
std::vector<double> places(const Chart& chart) {
    std::vector<double> places;
    for (const Curve& curve : chart.curves) {
        for (const Bin& bin : curve.series->bins()) {
            if (is_drawn(chart, bin)) places.push_back(bin.x());
        }
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

// Returns the borders of the strips. They are half-way between the positions, or at equal distances
// when there are too many.
std::vector<double> borders(const std::vector<double>& places, double last) {
    std::vector<double> borders{0};
    if (places.size() > max_strips) {
        for (std::size_t i = 1; i < max_strips; ++i)
            borders.push_back(last * static_cast<double>(i) / max_strips);
    } else {
        for (std::size_t i = 1; i < places.size(); ++i)
            borders.push_back((places[i - 1] + places[i]) / 2);
    }
    borders.push_back(last);
    return borders;
}

// Returns the curve's last drawn bin in [first, last], or nullptr when there is none.
const Bin* bin_within(const Chart& chart, const Series& series, double first, double last) {
    const Bin* found = nullptr;
    const auto& bins = series.bins();
    for (auto bin = std::lower_bound(bins.begin(), bins.end(), first,
                                     [](const Bin&b, double x) { return b.x() < x; });
         bin != bins.end() && bin->x() <= last; ++bin) {
        if (is_drawn(chart, *bin)) found = &*bin;
    }
    return found;
}

std::string values_text(const Chart& chart, const Curve& curve, const Bin& bin) {
    std::string text = "\n" + curve.label + ": " + number_text(chart.factor * bin.mean());
    if (bin.low < bin.high) {
        text += " (" + number_text(chart.factor * bin.low) + " to " +
                number_text(chart.factor * bin.high) + ")";
    }
    return text;
}

}  // namespace

bool is_drawn(const Chart& chart, const Bin& bin) {
    return bin.values > 0 && (chart.scale != Scale::logarithmic || bin.low > 0);
}

std::vector<Strip> chart_strips(const Chart& chart, const Reach& reach) {
    std::vector<Strip> strips;
    const std::vector<double> edges = borders(places(chart), reach.last);
    for (std::size_t i = 1; i < edges.size(); ++i) {
        std::string text;
        for (const Curve& curve : chart.curves) {
            const Bin* bin = bin_within(chart, *curve.series, edges[i - 1], edges[i]);
            if (bin == nullptr) continue;
            if (text.empty()) text = stretch_text(reach.abscissa, bin->first_x, bin->last_x);
            text += values_text(chart, curve, *bin);
        }
        if (!text.empty()) strips.push_back({edges[i - 1], edges[i], text});
    }
    return strips;
}

}  // namespace lockstep::launcher::report
