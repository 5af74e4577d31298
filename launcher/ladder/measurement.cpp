// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/measurement.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::launcher::ladder {

namespace {

// `seconds` for `done` of `all`, for all of it; less is never reckoned from more.
double scaled(double seconds, double done, double all) {
    return done > 0 && done < all ? seconds * all / done : seconds;
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
    for (std::string line; std::getline(lines, line);) {
        const auto json = nlohmann::json::parse(line);
        const double seconds = json.at("seconds");
        if (json.at("kind") == "train") {
            found.train_rows += json.at("rows").get<double>();
            found.train_seconds += seconds;
        } else {
            found.valid_rows = json.at("examples");
            found.valid_seconds = seconds;
            if (json.at("ppl").is_number()) found.ppl = json.at("ppl");
        }
    }
    if (found.train_rows == 0) throw Error(ErrorKind::data, path + ": tells of no training");
    return found;
}

}  // namespace lockstep::launcher::ladder
