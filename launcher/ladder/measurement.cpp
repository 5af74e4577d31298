// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/measurement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::launcher::ladder {

namespace {

// Extrapolates `seconds` for `done` of `all` to all of it. It never scales down.
double scaled(double seconds, double done, double all) {
    return done > 0 && done < all ? seconds * all / done : seconds;
}

// Adds the seconds of the steps, in their order. The first step counts at most the median of the
// others.
double seconds_of(std::vector<double> steps) {
    constexpr std::size_t fewest = 3;
    if (steps.size() >= fewest) {
        std::vector<double> others(steps.begin() + 1, steps.end());
        const auto median = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
        std::nth_element(others.begin(), median, others.end());
        steps.front() = std::min(steps.front(), *median);
    }
    return std::accumulate(steps.begin(), steps.end(), 0.0);
}

}  // namespace

double Measurement::train_s(const Work& work) const {
    return scaled(train_seconds, train_rows, work.train_rows);
}

double Measurement::valid_s(const Work& work) const {
    return scaled(valid_seconds, valid_rows, static_cast<double>(work.valid_rows));
}

Measurement read_measurement(const std::string& folder) {
    const std::string path = folder + "/metrics.jsonl";
    std::istringstream lines(read_file(path));
    Measurement found;
    std::vector<double> steps;
    for (std::string line; std::getline(lines, line);) {
        const auto json = parse_json(line);
        const double seconds = json.at("seconds");
        if (json.at("kind") == "train") {
            found.train_rows += json.at("rows").get<double>();
            steps.push_back(seconds);
            found.memory_bytes =
                std::max(found.memory_bytes, json.value("peak_memory_bytes", std::int64_t{0}));
        } else if (json.at("kind") == "valid") {
            found.valid_rows = json.at("examples");
            found.valid_seconds = seconds;
            if (json.at("ppl").is_number()) found.ppl = json.at("ppl");
        }
    }
    found.train_seconds = seconds_of(std::move(steps));
    if (found.train_rows == 0) throw Error(ErrorKind::data, path + ": tells of no training");
    return found;
}

}  // namespace lockstep::launcher::ladder
