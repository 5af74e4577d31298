// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/chart.hpp"

#include <doctest/doctest.h>

#include <string>

#include "launcher/report/charts/chart_strips.hpp"
#include "launcher/report/charts/style.hpp"
#include "tests/launcher/report/well_formed.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::launcher::report;
using lockstep::tests::contains;

namespace {

Series series_of(const std::vector<double>& values) {
    Series series(100);
    for (std::size_t i = 0; i < values.size(); ++i)
        series.add(10 * static_cast<double>(i + 1), values[i]);
    return series;
}

Chart chart_of(const Series& series, Scale scale = Scale::from_zero) {
    return {"A title", "a unit", "How to read it: --option.",
            scale,     1,        {{"run", 3, Mark::line, &series}}};
}

}  // namespace

TEST_CASE("a curve goes through its values, and is cut in two by a gap") {
    // 0 to 50 steps are 56 to 466 units, 0 to 4 are 212 to 28.
    const Series series = series_of({1, 2, Series::none, 4, 4});
    const std::string html = chart(chart_of(series), {Abscissa::steps, 50});
    CAPTURE(html);
    CHECK(contains(html, "<path class=\"line c3\" d=\"M138,166 220,120 M384,28 466,28 \"/>"));
    CHECK(contains(html, "<h3>A title</h3>"));
    CHECK(contains(html, ">a unit</text>"));
    CHECK(contains(html, "<figcaption>How to read it: <code>--option</code>.</figcaption>"));
    CHECK(lockstep::tests::not_well_formed(html) == "");
}

TEST_CASE("a value without neighbours is a dot; without values there is no chart") {
    const Series lone = series_of({Series::none, 4, Series::none});
    CHECK(contains(chart(chart_of(lone), {Abscissa::steps, 40}),
                   "class=\"lone c3\" d=\"M261,28 h0\""));
    CHECK(chart(chart_of(series_of({Series::none})), {Abscissa::steps, 40}).empty());
    CHECK(chart(chart_of(series_of({0, -1}), Scale::logarithmic), {Abscissa::steps, 40}).empty());
}

TEST_CASE("a chart alone in its row has letters of about the size of the others") {
    const std::string css(style());
    const std::string rule = css.substr(css.find("\nfigure {"));
    const std::string key = "max-width: ";
    const std::size_t at = rule.find(key);
    REQUIRE(at < rule.find('}'));
    const double widest = 16 * std::stod(rule.substr(at + key.size()));  // a rem has 16 pixels
    const std::string svg = chart(chart_of(series_of({1, 2})), {Abscissa::steps, 40});
    const double drawn = std::stod(svg.substr(svg.find("viewBox=\"0 0 ") + 13));
    CHECK(widest / drawn < 1.25);
    CHECK(widest / drawn >= 1);
}

TEST_CASE("a legend names each colour once") {
    const Series series = series_of({1, 2});
    Chart drawn = chart_of(series);
    drawn.curves.push_back({"<other>", 1, Mark::line, &series});
    drawn.curves.push_back({"<other>, validation", 1, Mark::dots, &series});
    const std::string html = chart(drawn, {Abscissa::steps, 20});
    CHECK(contains(html, "<i class=\"c3\"></i>run</span>"));
    CHECK(contains(html, "<i class=\"c1\"></i>&lt;other&gt;</span>"));
    CHECK_FALSE(contains(html, "</i>&lt;other&gt;, validation"));
    CHECK(contains(html, "class=\"dots c1\""));
}

TEST_CASE("strips tell the values, and share the width where there are too many") {
    const Series few = series_of({1, Series::none, 3});
    auto strips = chart_strips(chart_of(few), {Abscissa::steps, 30});
    REQUIRE(strips.size() == 2);
    CHECK(strips[0].text == "step 10\nrun: 1");
    CHECK(strips[0].first == 0);
    CHECK(strips[0].last == 20);
    CHECK(strips[1].text == "step 30\nrun: 3");
    CHECK(strips[1].last == 30);
    Series many(300);
    for (int i = 1; i <= 1200; ++i) many.add(i, i % 4);
    strips = chart_strips(chart_of(many), {Abscissa::steps, 1200});
    CHECK(strips.size() == max_strips);
    CHECK(strips.back().text == "steps 1,197 to 1,200\nrun: 1.5 (0 to 3)");
}
