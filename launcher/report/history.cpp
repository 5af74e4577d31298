// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/history.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::launcher::report {

namespace {

constexpr std::array train_names{"loss",
                                 "ppl",
                                 "token_acc",
                                 "tokens",
                                 "rows",
                                 "truncated_rows",
                                 "tokens_per_s",
                                 "lr",
                                 "gnorm",
                                 "clip",
                                 "loss_scale",
                                 "hidden",
                                 "seconds",
                                 "seconds_data",
                                 "seconds_forward",
                                 "seconds_backward",
                                 "seconds_comm_not_hidden",
                                 "seconds_optimizer",
                                 "seconds_buckets",
                                 "seconds_buckets_not_hidden",
                                 "seconds_last_bucket",
                                 "seconds_weights",
                                 "seconds_weights_not_hidden",
                                 "bytes_weights",
                                 "bytes_gradients",
                                 "bytes_replicas",
                                 "seconds_gradients",
                                 "seconds_gradients_not_hidden",
                                 "seconds_replicas",
                                 "seconds_replicas_not_hidden",
                                 "bytes_tensor",
                                 "bytes_pipeline",
                                 "seconds_tensor",
                                 "seconds_tensor_not_hidden",
                                 "seconds_pipeline",
                                 "seconds_pipeline_not_hidden",
                                 "peak_memory_bytes"};
// These are calculated from other values of the line.
constexpr std::array computed_names{"last_bucket", "skipped_updates"};

// No measured value is outside these limits. Sums would overflow, and logarithms would fail.
constexpr double largest = 1e100, smallest = 1e-100;

double number(const nlohmann::json& line, const char* name) {
    const auto found = line.find(name);
    if (found == line.end() || !found->is_number()) return Series::none;
    const double value = found->get<double>();
    if (std::abs(value) < smallest) return 0;
    return std::abs(value) < largest ? value : Series::none;
}

// Returns -1 when there is no integer of that name.
std::int64_t count(const nlohmann::json& line, const char* name) {
    const auto found = line.find(name);
    if (found == line.end() || !found->is_number_integer()) return -1;
    return found->get<std::int64_t>();
}

std::string text_at(const nlohmann::json& line, const char* name) {
    const auto found = line.find(name);
    return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

void add_point(Curves& curves, std::string_view name, double step, double value) {
    curves.find(name)->second.add(step, value);
}

// `place` is the x position of the values.
void add_training(const nlohmann::json& line, double place, Curves& curves) {
    for (const char* name : train_names) add_point(curves, name, place, number(line, name));
    const double buckets = number(line, "seconds_buckets");
    add_point(curves, "last_bucket", place,
              buckets > 0 ? number(line, "seconds_last_bucket") / buckets : Series::none);
    const std::int64_t updates = count(line, "updates");
    add_point(curves, "skipped_updates", place,
              updates >= 0 ? static_cast<double>(count(line, "step") - updates) : Series::none);
}

Validation validation_of(const nlohmann::json& line, std::int64_t step) {
    Validation validation;
    validation.step = step;
    validation.epoch = number(line, "epoch");
    for (const char* name : valid_names) {
        const double value = number(line, name);
        if (std::isfinite(value)) validation.values[name] = value;
    }
    const auto best = line.find("best");
    validation.best = best != line.end() && best->is_boolean() && best->get<bool>();
    return validation;
}

const Series& curve(const Curves& curves, std::string_view name) {
    const auto found = curves.find(name);
    require(found != curves.end(), "a value that is read from metrics.jsonl");
    return found->second;
}

}  // namespace

History::History(Abscissa abscissa) : abscissa_(abscissa) {
    for (const char* name : train_names) train_.try_emplace(name, train_bins);
    for (const char* name : computed_names) train_.try_emplace(name, train_bins);
    for (const char* name : valid_names) valid_.try_emplace(name, valid_bins);
}

void History::add(std::string_view text) {
    const nlohmann::json line = try_parse_json(text);
    const std::int64_t step = line.is_object() ? count(line, "step") : -1;
    const std::string kind = line.is_object() ? text_at(line, "kind") : "";
    if (step < step_ || (kind != "train" && kind != "valid" && kind != "final")) {
        ++unusable_lines_;
        return;
    }
    ++used_lines_;
    step_ = step;
    updates_ = std::max(updates_, count(line, "updates"));
    if (const double epoch = number(line, "epoch"); std::isfinite(epoch)) epoch_ = epoch;
    advance(line);
    if (kind != "final") finals_.clear();
    if (kind == "train") {
        add_training(line, place_, train_);
        return;
    }
    if (kind == "final") {
        finals_.push_back({text_at(line, "split"), validation_of(line, step)});
        return;
    }
    for (const char* name : valid_names) add_point(valid_, name, place_, number(line, name));
    validations_.push_back(validation_of(line, step));
    ++validation_count_;
    if (validations_.back().best) best_ = validations_.back();
    if (validations_.size() > shown_validations) validations_.pop_front();
}

// Updates the x position. The tokens and seconds of a validation do not count. A line without the
// value leaves the position unchanged.
void History::advance(const nlohmann::json& line) {
    const bool trained = line.at("kind") == "train";
    const auto sum = [&](double value) {
        if (trained && value > 0) place_ += value;
    };
    switch (abscissa_) {
        case Abscissa::steps:
            place_ = static_cast<double>(step_);
            break;
        case Abscissa::epochs:
            place_ = std::max(place_, epoch_);
            break;
        case Abscissa::tokens:
            sum(number(line, "tokens"));
            break;
        case Abscissa::minutes:
            sum(number(line, "seconds") / 60);
            break;
    }
}

const Series& History::train(std::string_view name) const { return curve(train_, name); }

const Series& History::valid(std::string_view name) const { return curve(valid_, name); }

History read_history(const std::string& folder, Abscissa abscissa) {
    const std::string path = folder + "/metrics.jsonl";
    if (!path_exists(path)) {
        throw Error(ErrorKind::config, path +
                                           ": is not there; a run writes it with its first line "
                                           "(--log-every-n-steps): name the -mf of a training run");
    }
    History history(abscissa);
    for_each_line(path, [&](std::string_view line) { history.add(line); });
    if (history.used_lines() > 0) return history;
    throw Error(ErrorKind::data,
                path + (history.unusable_lines() == 0
                            ? ": has no line yet; wait for the run's first (--log-every-n-steps)"
                            : ": none of its lines is one of a run; is it another file?"));
}

}  // namespace lockstep::launcher::report
