// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/plot.hpp"

#include <algorithm>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"

namespace lockstep::launcher::report {

namespace {

// These are units of the drawing, which is scaled to the available width.
constexpr double width = 480, height = 250;
constexpr double left = 56, right = 466, top = 28, bottom = 212;

std::string attribute(const char* name, double value) {
    return std::string(" ") + name + "=\"" + coordinate(value) + "\"";
}

std::string label(const char* kind, double x, double y, std::string_view text) {
    return std::string("<text class=\"") + kind + "\"" + attribute("x", x) + attribute("y", y) +
           ">" + escaped(text) + "</text>\n";
}

// Marks options so that they do not break at their dashes.
std::string with_options_marked(std::string_view caption) {
    std::string html;
    while (!caption.empty()) {
        const std::size_t length = std::min(caption.find(' '), caption.size() - 1) + 1;
        const std::string_view word = caption.substr(0, length);
        const std::size_t name = word.find_last_not_of(" .,;:") + 1;
        const bool option = word.starts_with('-') && name > 1;
        html += option ? "<code>" + escaped(word.substr(0, name)) + "</code>" +
                             escaped(word.substr(name))
                       : escaped(word);
        caption.remove_prefix(length);
    }
    return html;
}

}  // namespace

double Plot::x(double place) const { return left + (right - left) * across.share(place); }

double Plot::y(double value) const { return bottom - (bottom - top) * values.share(value); }

std::string begin_plot(const Plot& plot, std::string_view title, std::string_view unit) {
    std::string svg = "<svg viewBox=\"0 0 " + coordinate(width) + " " + coordinate(height) +
                      "\" role=\"img\" aria-label=\"" + escaped(title) +
                      "\">\n<path class=\"grid\" d=\"";
    for (const double tick : plot.values.ticks)
        svg += "M" + coordinate(left) + "," + coordinate(plot.y(tick)) + "H" + coordinate(right);
    svg += "\"/>\n<path class=\"axis\" d=\"M" + coordinate(left) + "," + coordinate(bottom) + "H" +
           coordinate(right);
    constexpr double mark = 4, below = 17, beside = 6, half_line = 4;
    for (const double tick : plot.across.ticks)
        svg += "M" + coordinate(plot.x(tick)) + "," + coordinate(bottom) + "v" + coordinate(mark);
    svg += "\"/>\n";
    for (const double tick : plot.values.ticks)
        svg += label("y", left - beside, plot.y(tick) + half_line, tick_text(tick));
    for (const double tick : plot.across.ticks)
        svg += label("x", plot.x(tick), bottom + below, tick_text(tick));
    svg += label("unit", 2, 11, unit);
    return svg + label("x", (left + right) / 2, height - 4, axis_title(plot.abscissa));
}

std::string end_plot() { return "</svg>\n"; }

std::string strips(const Plot& plot, const std::vector<Strip>& strips) {
    std::string svg = "<g class=\"strips\">\n";
    for (const Strip& strip : strips) {
        const double x = plot.x(strip.first);
        svg += "<rect" + attribute("x", x) + attribute("width", plot.x(strip.last) - x) +
               attribute("y", top) + attribute("height", bottom - top) + "><title>" +
               escaped(strip.text) + "</title></rect>\n";
    }
    return svg + "</g>\n";
}

std::string legend_key(int colour, std::string_view label) {
    return "<span class=\"key\"><i class=\"c" + std::to_string(colour) + "\"></i>" +
           escaped(label) + "</span>\n";
}

std::string figure(std::string_view title, std::string_view legend, std::string_view svg,
                   std::string_view caption) {
    std::string html = "<figure>\n<h3>" + escaped(title) + "</h3>\n";
    if (!legend.empty()) html += "<p class=\"legend\">" + std::string(legend) + "</p>\n";
    return html + std::string(svg) + "<figcaption>" + with_options_marked(caption) +
           "</figcaption>\n</figure>\n";
}

}  // namespace lockstep::launcher::report
