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

#include "launcher/report/charts/abscissa.hpp"
#include "launcher/report/charts/series.hpp"

namespace lockstep::launcher::report {

// The page shows these values of a validation, in the usual order of reading.
inline constexpr std::array valid_names{"loss", "ppl",    "token_acc", "token_em", "accuracy",
                                        "f1",   "bleu-4", "rouge_L",   "seconds"};

constexpr std::size_t train_bins = 300, valid_bins = 120, shown_validations = 40;

using Curves = std::map<std::string, Series, std::less<>>;

// Holds the values of a validation by their names in metrics.jsonl. Values that are null or missing
// are left out.
struct Validation {
    std::int64_t step = 0;
    double epoch = 0;
    std::map<std::string, double, std::less<>> values;
    bool best = false;
};

// Holds an evaluation of the final weights after the run had ended.
struct FinalEvaluation {
    std::string split;
    Validation values;  // best: of the best validation, otherwise of the last step
};

// Summarises a metrics.jsonl of any length in bounded memory.
class History {
public:
    History() : History(Abscissa::steps) {}
    explicit History(Abscissa abscissa);
    // Adds a line without its line end. Steps must not decrease.
    void add(std::string_view line);

    // These functions return the curve of a name in metrics.jsonl. train() has two more:
    // skipped_updates (their number so far) and last_bucket (its share of seconds_buckets).
    const Series& train(std::string_view name) const;
    const Series& valid(std::string_view name) const;

    const std::deque<Validation>& validations() const noexcept {
        return validations_;
    }  // the last ones
    const std::optional<Validation>& best() const noexcept { return best_; }
    // Returns the final evaluations, if the run has ended and has not continued since.
    const std::vector<FinalEvaluation>& finals() const noexcept { return finals_; }
    std::int64_t validation_count() const noexcept { return validation_count_; }
    std::int64_t used_lines() const noexcept { return used_lines_; }
    std::int64_t unusable_lines() const noexcept { return unusable_lines_; }
    std::int64_t step() const noexcept { return step_; }
    std::int64_t updates() const noexcept { return updates_; }
    double epoch() const noexcept { return epoch_; }
    Abscissa abscissa() const noexcept { return abscissa_; }
    double place() const noexcept { return place_; }  // x position of the last line

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

// Reads FOLDER/metrics.jsonl. Throws an error when no line of it can be used.
History read_history(const std::string& folder, Abscissa abscissa);

}  // namespace lockstep::launcher::report
