// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/summary.hpp"

#include <algorithm>
#include <cmath>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/ending.hpp"
#include "launcher/text/units.hpp"
#include "model/architectures.hpp"
#include "runtime/train/metrics/progress.hpp"
#include "runtime/train/reduction/reduction_timing.hpp"

namespace lockstep::launcher::report {

namespace {

std::int64_t whole(double value) {
    constexpr double most = 1e18;
    return static_cast<std::int64_t>(std::clamp(value, -most, most));
}

std::string model_text(const Run& run) {
    const model::ModelConfig& model = run.model;
    const std::string encoder =
        model::has_encoder(model) ? std::to_string(model.encoder_layers) + " + " : "";
    const std::string layers = encoder + std::to_string(model.decoder_layers);
    return text_of(run.config, "model") + ", " + layers + " layers of " +
           std::to_string(model.embedding_size) + " (" + std::to_string(model.ffn_size) +
           " inside), " + std::to_string(model.heads) + " heads, " +
           counted(static_cast<std::int64_t>(run.parameters), "parameter", "parameters");
}

std::string place_text(const Run& run) {
    if (!run.saved) return "not known before the first checkpoint";
    const NamedTexts& versions = run.saved->versions;
    const std::string ranks = text_of(versions, "ranks"), threads = text_of(versions, "threads"),
                      device = text_of(versions, "device");
    return ranks + (ranks == "1" ? " rank" : " ranks") + (device.empty() ? "" : " on " + device) +
           " with " + threads + (threads == "1" ? " core" : " cores") + " each, " +
           text_of(versions, "precision");
}

std::string data_text(const Run& run) {
    std::string data;
    if (run.saved)
        for (const auto& [name, value] : run.saved->options)
            if (name == "data") data += (data.empty() ? "" : ", ") + value;
    return data.empty() ? "not known before the first checkpoint" : data;
}

std::string parts_text(const Run& run) {
    std::string text;
    if (run.saved)
        for (const auto& [step, changes] : run.saved->parts)
            text += (text.empty() ? "after step " : "; after step ") + step + " with " + changes;
    return text;
}

std::string steps_taken(const Run& run) {
    const History& history = run.history;
    const std::int64_t skipped = history.step() - history.updates();
    std::string text = counted(history.step(), "step", "steps") + ", " +
                       counted(history.updates(), "update", "updates");
    if (skipped > 0) text += " (" + grouped(skipped) + " skipped)";
    const std::string epochs = number_text(history.epoch());
    return text + ", " + epochs + (epochs == "1" ? " epoch" : " epochs");
}

std::string trained_on(const Run& run) {
    const History& history = run.history;
    std::string text = grouped(whole(history.train("tokens").total())) + " label tokens in " +
                       grouped(whole(history.train("rows").total())) + " rows";
    const Series& cut = history.train("truncated_rows");
    return cut.total() > 0 ? text + ", " + grouped(whole(cut.total())) + " of them cut" : text;
}

std::string speed_text(const Run& run) {
    const Series& speed = run.history.train("tokens_per_s");
    if (speed.values() == 0) return "";
    return "median " + number_text(speed.median()) + ", last " + number_text(speed.last());
}

std::string best_text(const Run& run) {
    const auto& best = run.history.best();
    if (!best) return run.history.validation_count() == 0 ? "no validation" : "";
    const std::string given = run.saved ? text_of(run.saved->options, "validation-metric") : "";
    const std::string metric = given.empty() ? "ppl" : given;
    const auto found = best->values.find(metric);
    const std::string value =
        found == best->values.end() ? "" : metric + " " + number_text(found->second) + " ";
    return value + "at step " + grouped(best->step) + " of " +
           counted(run.history.validation_count(), "validation", "validations");
}

std::string memory_text(const Run& run) {
    const Series& memory = run.history.train("peak_memory_bytes");
    return memory.values() == 0 ? "" : bytes_text(whole(memory.high()));
}

std::string hidden_text(const Run& run) {
    const auto total = [&run](const char* name) { return run.history.train(name).total(); };
    if (run.history.train("seconds_buckets").values() == 0) return "";
    const double buckets_s = total("seconds_buckets");
    const double blocked_s = total("seconds_buckets_not_hidden");
    const auto share = train::hidden_share(blocked_s, buckets_s);
    if (!share) return "one rank: nothing to exchange";
    const double weights_s = total("seconds_weights");
    const double weights_blocked_s = total("seconds_weights_not_hidden");
    const auto weights = train::hidden_share(weights_blocked_s, weights_s);
    const auto gradients =
        train::hidden_share(blocked_s - weights_blocked_s, buckets_s - weights_s);
    if (!weights || !gradients) return percent_text(*share);
    return percent_text(*share) + " (gradients " + percent_text(*gradients) + ", weights " +
           percent_text(*weights) + ")";
}

std::string lines_text(const Run& run) {
    std::string text = counted(run.history.used_lines(), "line", "lines") + " of metrics.jsonl";
    if (run.history.unusable_lines() > 0)
        text += "; " + counted(run.history.unusable_lines(), "damaged one is", "damaged ones are") +
                " left out";
    return text + ", the last written " + run.last_line;
}

std::string state_text(const Run& run) {
    const Ending end = ending(run);
    return end.kind == EndKind::failed ? "Failed, as said above" : end.text;
}

struct Row {
    const char* name;
    std::string (*text)(const Run&);
};

}  // namespace

std::string endings(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    std::string html;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Ending end = ending(runs[i]);
        if (runs.size() > 1 && end.kind != EndKind::failed) continue;  // the table shows it
        html += end.kind == EndKind::failed ? "<p class=\"end failed\">" : "<p class=\"end\">";
        if (runs.size() > 1) html += "<b>" + escaped(labels[i]) + "</b>: ";
        html += escaped(end.text) + "</p>\n";
    }
    return html;
}

std::string summary(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    std::vector<Row> wanted{
        {"Model", model_text},
        {"Data", data_text},
        {"Continued", parts_text},
        {"Ran on", place_text},
        {"Done", steps_taken},
        {"Trained on", trained_on},
        {"Time in steps",
         [](const Run& run) {
             return train::duration_text(
                 static_cast<double>(whole(std::round(run.history.train("seconds").total()))));
         }},
        {"Label tokens/s", speed_text},
        {"Best validation", best_text},
        {"Peak memory of rank 0", memory_text},
        {"Communication hidden", hidden_text},
        {"Read", lines_text},
    };
    Cells head;
    if (runs.size() > 1) {
        wanted.insert(wanted.begin(), {"State", state_text});
        head.push_back("");
        head.insert(head.end(), labels.begin(), labels.end());
    }
    std::vector<Cells> rows;
    for (const Row& row : wanted) {
        rows.push_back({row.name});
        for (const Run& run : runs) rows.back().push_back(row.text(run));
        const bool told = std::any_of(rows.back().begin() + 1, rows.back().end(),
                                      [](const std::string& text) { return !text.empty(); });
        if (row.text == parts_text && !told) rows.pop_back();
    }
    return table(TableKind::words, head, rows);
}

}  // namespace lockstep::launcher::report
