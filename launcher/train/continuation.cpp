// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/continuation.hpp"

#include <nlohmann/json.hpp>

#include "data/text/escaped_bytes.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_object.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

namespace {

// Two data sets of the same size are told by their contents.
std::string told(const std::string& text, const std::string& content) {
    return content.empty() ? text : text + " (content " + content + ")";
}

std::optional<std::int64_t> moved_of(const nlohmann::json& json) {
    constexpr std::int64_t most = std::int64_t{1} << 48;  // no run has more updates
    if (!json.contains("schedule_moved")) return std::nullopt;
    const JsonOrigin origin{"the checkpoint's state.json", ""};
    return JsonObject<nlohmann::json>(json, origin, "options")
        .whole<std::int64_t>("schedule_moved", {-most, most});
}

}  // namespace

Continuation continuation_of(const train::RunRecord& record) {
    const auto options = parse_json(record.options_json);
    Continuation found;
    found.trainer = record.trainer;
    found.mixture = data::unescape_bytes(options.value("data", ""));
    found.data_set = options.value("data_set", "");
    found.content = options.value("data_content", "");
    if (const auto dealing = options.find("dealing");
        dealing != options.end() && dealing->is_object())
        found.dealing = dealing->get<DealingRecord>();
    found.schedule_moved = moved_of(options);
    found.parts = options.value("parts", std::vector<ContinuedPart>());
    return found;
}

void to_json(nlohmann::json& json, const Continuation& continuation) {
    json = {{"trainer", continuation.trainer},
            {"data", data::escape_bytes(continuation.mixture)},
            {"data_set", continuation.data_set},
            {"content", continuation.content}};
    if (continuation.dealing) json["dealing"] = *continuation.dealing;
    if (continuation.schedule_moved) json["schedule_moved"] = *continuation.schedule_moved;
    if (!continuation.parts.empty()) json["parts"] = continuation.parts;
}

void from_json(const nlohmann::json& json, Continuation& continuation) {
    json.at("trainer").get_to(continuation.trainer);
    continuation.mixture = data::unescape_bytes(json.at("data").get<std::string>());
    json.at("data_set").get_to(continuation.data_set);
    json.at("content").get_to(continuation.content);
    if (const auto dealing = json.find("dealing"); dealing != json.end())
        continuation.dealing = dealing->get<DealingRecord>();
    continuation.schedule_moved = moved_of(json);
    continuation.parts = json.value("parts", std::vector<ContinuedPart>());
}

// A path need not be UTF-8.
void to_json(nlohmann::json& json, const ContinuedPart& part) {
    json = {{"step", part.step}, {"changes", data::escape_bytes(part.changes)}};
}

void from_json(const nlohmann::json& json, ContinuedPart& part) {
    json.at("step").get_to(part.step);
    part.changes = data::unescape_bytes(json.at("changes").get<std::string>());
}

DataChange data_change(const Continuation& continuation, const DataSets& data,
                       const std::vector<double>& weights) {
    const bool mixed = !continuation.mixture.empty() || data.several();
    const std::string& earlier = mixed ? continuation.mixture : continuation.data_set;
    const std::string now = mixed ? mixture_text(data, weights) : data_set_text(data);
    const std::string content = content_of(data);
    DataChange change;
    if (mixed ? earlier != now : !earlier.empty() && earlier != now) {
        change = {true, earlier, now};
    } else if (!continuation.content.empty() && !content.empty() &&
               continuation.content != content) {
        change = {true, told(earlier, continuation.content), told(now, content)};
    }
    for (std::string* text : {&change.then, &change.now})
        if (text->empty()) *text = "one data set";
    return change;
}

std::string DataChange::text() const { return "another data set: " + now + " instead of " + then; }

std::string changes_of(const std::string& options, const DataChange& data) {
    if (!data.is_other) return options;
    return options.empty() ? data.text() : options + "; " + data.text();
}

// A position in a mixture of data sets is only valid in that mixture. One data set that is another
// one has other rows, so it cannot continue an epoch; it can begin one.
void require_continuable(const Continuation& continuation, const RunConfig& config,
                         const DataSets& data, const std::vector<double>& weights) {
    const DataChange change = data_change(continuation, data, weights);
    if (!change.is_other) return;
    const train::Position& position = continuation.trainer.position;
    if (!continuation.mixture.empty() || data.several())
        throw Error(ErrorKind::config, "--data: the run in " + config.model_file +
                                           " was started with " + change.then + ", not with " +
                                           change.now +
                                           "; continue with those, or start another -mf from it "
                                           "by --init-model");
    if (position.step_in_epoch == 0) return;
    throw Error(ErrorKind::config,
                "--data: the checkpoint in " + config.model_file + " is in the middle of epoch " +
                    std::to_string(position.epoch + 1) + " over " + change.then + ", not " +
                    change.now +
                    "; finish the epoch with those, or start another -mf from it by --init-model");
}

std::string count_anew(const CountedAnew& anew, train::TrainerState& state) {
    std::string told;
    const auto tell = [&](const std::string& what) { told += (told.empty() ? "" : "; ") + what; };
    train::ValidationState& validation = state.validation;
    if (anew.validations && validation.without_better > 0) {
        const bool one = validation.without_better == 1;
        tell(std::to_string(validation.without_better) +
             (one ? " validation without a better one no longer counts"
                  : " validations without a better one no longer count"));
    }
    if (anew.validations) validation.without_better = state.schedule.bad_validations = 0;
    if (anew.best && validation.best) tell("the next validation is the best so far");
    if (anew.best) validation.best = validation.last = std::nullopt;
    if (!anew.decays) return told;
    if (state.schedule.factor != 1) tell("the learning rate begins without the decays so far");
    state.schedule.factor = 1;
    state.schedule.validations = 0;
    return told;
}

}  // namespace lockstep::launcher
