// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/report/abscissa.hpp"
#include "launcher/report/series.hpp"

namespace lockstep::launcher::report {

// What is read of a validation, in the order in which it is usually looked at.
inline constexpr std::array valid_names{"loss", "ppl",    "token_acc", "token_em", "accuracy",
                                        "f1",   "bleu-4", "rouge_L",   "seconds"};

constexpr std::size_t train_bins = 300, valid_bins = 120, shown_validations = 40;

using Curves = std::map<std::string, Series, std::less<>>;

// A validation's values by their names in metrics.jsonl; those that are null or not there are not.
struct Validation {
    std::int64_t step = 0;
    double epoch = 0;
    std::map<std::string, double, std::less<>> values;
    bool best = false;
};

// Of the weights that the run left, when it had ended.
struct FinalEvaluation {
    std::string split;
    Validation values;  // best: those weights were the best of the validations, else the last
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
    // Of the run's end, if it was reached and the run has not gone on since.
    const std::vector<FinalEvaluation>& finals() const noexcept { return finals_; }
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
    std::vector<FinalEvaluation> finals_;
    std::int64_t validation_count_ = 0, used_lines_ = 0, unusable_lines_ = 0;
    std::int64_t step_ = 0, updates_ = 0;
    double epoch_ = 0;
};

// FOLDER/metrics.jsonl. An error where no line of it can be used.
History read_history(const std::string& folder, Abscissa abscissa);

}  // namespace lockstep::launcher::report
