// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/report/abscissa.hpp"
#include "launcher/report/series.hpp"

namespace lockstep::launcher::report {

constexpr std::size_t train_bins = 300, valid_bins = 120, shown_validations = 40;

using Curves = std::map<std::string, Series, std::less<>>;

// A validation's values by their names in metrics.jsonl; those that are null or not there are not.
struct Validation {
    std::int64_t step = 0;
    double epoch = 0;
    std::map<std::string, double, std::less<>> values;
    bool best = false;
};

// What a metrics.jsonl of any length says, in bounded memory.
class History {
public:
    History() : History(Abscissa::steps) {}
    explicit History(Abscissa abscissa);
    // A line without its end. Steps do not go back.
    void add(std::string_view line);

    // By the name in metrics.jsonl, and: skipped_updates (so far), last_bucket (its share of
    // seconds_buckets).
    const Series& train(std::string_view name) const;
    const Series& valid(std::string_view name) const;

    const std::deque<Validation>& validations() const noexcept { return validations_; }  // the last
    const std::optional<Validation>& best() const noexcept { return best_; }
    std::int64_t validation_count() const noexcept { return validation_count_; }
    std::int64_t used_lines() const noexcept { return used_lines_; }
    std::int64_t unusable_lines() const noexcept { return unusable_lines_; }
    std::int64_t step() const noexcept { return step_; }
    std::int64_t updates() const noexcept { return updates_; }
    double epoch() const noexcept { return epoch_; }
    Abscissa abscissa() const noexcept { return abscissa_; }
    double place() const noexcept { return place_; }  // of the last line, in what the abscissa says

private:
    void advance(const nlohmann::json& line);

    Abscissa abscissa_;
    double place_ = 0;
    Curves train_, valid_;
    std::deque<Validation> validations_;
    std::optional<Validation> best_;
    std::int64_t validation_count_ = 0, used_lines_ = 0, unusable_lines_ = 0;
    std::int64_t step_ = 0, updates_ = 0;
    double epoch_ = 0;
};

// FOLDER/metrics.jsonl. An error where no line of it can be used.
History read_history(const std::string& folder, Abscissa abscissa);

}  // namespace lockstep::launcher::report
