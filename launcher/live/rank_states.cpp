// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/rank_states.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/train/metrics/progress.hpp"

namespace lockstep::launcher::live {

namespace {

using StateJson = nlohmann::json;

constexpr double slow_excess = 0.2;  // the watchdog names a rank from here on
constexpr double long_standstill_s = 10;
// No count of a run is larger, and each can be added to others.
constexpr double largest = 1e15;

StateJson json_if_there(const std::string& path) {
    try {
        return try_parse_json(read_json_text(path));
    } catch (const Error&) {
        return StateJson();
    }
}

double number_at(const StateJson& json, const char* name) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return 0;
    const double value = found->get<double>();
    return std::isfinite(value) ? std::clamp(value, -largest, largest) : 0;
}

std::int64_t count_at(const StateJson& json, const char* name) {
    return static_cast<std::int64_t>(number_at(json, name));
}

std::string text_at(const StateJson& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_at(const StateJson& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_boolean() && found->get<bool>();
}

RankState rank_from(const StateJson& json) {
    RankState rank;
    rank.host = text_at(json, "host");
    rank.phase = text_at(json, "phase");
    rank.operation = text_at(json, "operation");
    rank.condition = text_at(json, "condition");
    rank.error = text_at(json, "error");
    rank.process = count_at(json, "process");
    rank.step = count_at(json, "step");
    rank.peak_bytes = count_at(json, "peak_bytes");
    rank.lost = flag_at(json, "lost");
    rank.waiting = flag_at(json, "waiting");
    rank.still_s = number_at(json, "still_s");
    rank.work_s = number_at(json, "work_s");
    return rank;
}

// The lower median of an even number, as the watchdog's.
void compare(std::vector<RankState>& ranks) {
    std::vector<double> works;
    for (const RankState& rank : ranks) works.push_back(rank.work_s);
    const auto middle = works.begin() + (static_cast<std::ptrdiff_t>(works.size()) - 1) / 2;
    std::nth_element(works.begin(), middle, works.end());
    if (*middle <= 0) return;
    for (RankState& rank : ranks) rank.excess = rank.work_s / *middle - 1;
}

std::vector<RankState> ranks_of(const StateJson& json) {
    std::vector<RankState> ranks;
    if (!json.is_object() || !json.contains("ranks") || !json["ranks"].is_array()) return ranks;
    for (const StateJson& one : json["ranks"]) {
        ranks.push_back(one.is_object() ? rank_from(one) : RankState());
        ranks.back().rank = static_cast<int>(ranks.size()) - 1;
    }
    if (!ranks.empty()) compare(ranks);
    return ranks;
}

}  // namespace

RankStates read_rank_states(const std::string& folder) {
    const StateJson failure = json_if_there(folder + "/failure.json");
    if (failure.is_object()) {
        RankStates states{ranks_of(failure), std::nullopt, text_at(failure, "report")};
        const std::int64_t culprit = failure.contains("rank") ? count_at(failure, "rank") : -1;
        for (RankState& rank : states.ranks)
            if (rank.rank == culprit) rank.condition = text_at(failure, "cause");
        return states;
    }
    const StateJson json = json_if_there(folder + "/ranks.json");
    RankStates states{ranks_of(json), std::nullopt, ""};
    if (json.is_object() && json.contains("limits") && json["limits"].is_object()) {
        const StateJson& limits = json["limits"];
        states.limits =
            RunLimits{number_at(limits, "num_epochs"), number_at(limits, "max_train_steps"),
                      number_at(limits, "max_train_time_s")};
    }
    return states;
}

std::string place_of(const RankState& rank) {
    if (rank.waiting)
        return "waiting in " + (rank.operation.empty() ? "a collective" : rank.operation);
    return rank.phase.empty() ? "not known" : rank.phase;
}

std::string remark_on(const RankState& rank) {
    const std::string& condition = rank.condition;
    if (!condition.empty() && condition != "running") return condition;
    if (rank.lost) return "lost";
    if (!rank.waiting && rank.still_s >= long_standstill_s)
        return "still for " + train::duration_text(rank.still_s);
    if (rank.excess >= slow_excess) return "holds up others";
    return "";
}

}  // namespace lockstep::launcher::live
