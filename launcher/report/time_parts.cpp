// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/time_parts.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "launcher/report/charts/plot.hpp"

namespace lockstep::launcher::report {

namespace {

using Seconds = std::function<double(const Series&)>;

std::vector<double> seconds_by_part(const History& history, const Seconds& seconds) {
    double rest = seconds(history.train("seconds"));
    std::vector<double> parts;
    for (const TimePart& part : time_parts()) {
        parts.push_back(part.seconds == nullptr ? 0 : seconds(history.train(part.seconds)));
        rest -= parts.back();
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (time_parts()[i].seconds == nullptr) parts[i] = std::max(rest, 0.0);
    }
    return parts;
}

}  // namespace

std::vector<TimePart> time_parts() {
    return {
        {"forward", "seconds_forward", 0, ""},
        {"backward", "seconds_backward", 5, ""},
        {"optimizer", "seconds_optimizer", 2, "more rows an update: -bs, --update-freq"},
        {"the rest", nullptr, 7, ""},
        {"communication not hidden", "seconds_comm_not_hidden", 1,
         "another --bucket-mb, fewer updates by --update-freq, --comm-dtype bf16; a slow rank is "
         "named in the run's output"},
        {"waiting for data", "seconds_data", 4, "more --num-workers; data on a faster disk"},
    };
}

std::vector<double> seconds_of_bin(const History& history, std::size_t bin) {
    return seconds_by_part(history, [bin](const Series& series) { return series.bins()[bin].sum; });
}

std::vector<double> seconds_of_run(const History& history) {
    return seconds_by_part(history, [](const Series& series) { return series.total(); });
}

std::vector<double> shares_of(const std::vector<double>& parts) {
    const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
    std::vector<double> shares;
    for (const double part : parts) shares.push_back(all > 0 ? part / all : 0);
    return shares;
}

std::string time_legend() {
    std::string html;
    for (const TimePart& part : time_parts()) html += legend_key(part.colour, part.name);
    return html;
}

}  // namespace lockstep::launcher::report
