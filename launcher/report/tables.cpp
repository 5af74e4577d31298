// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/tables.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::report {

namespace {

std::string paragraph(const std::string& text) { return "<p>" + escaped(text) + "</p>\n"; }

std::vector<Cells> rows_of(const NamedTexts& texts) {
    std::vector<Cells> rows;
    for (const auto& [name, text] : texts) rows.push_back({name, text});
    return rows;
}

// Returns the names of the values that any validation has, in the usual order of reading.
Cells columns_of(const std::vector<Validation>& validations) {
    Cells columns;
    for (const char* name : valid_names) {
        if (std::any_of(validations.begin(), validations.end(),
                        [&](const Validation& v) { return v.values.contains(name); }))
            columns.push_back(name);
    }
    return columns;
}

void add_values(Cells& row, const Validation& validation, const Cells& columns) {
    for (const std::string& name : columns) {
        const auto found = validation.values.find(name);
        row.push_back(found == validation.values.end() ? "–" : number_text(found->second));
    }
}

Cells row_of(const Validation& validation, const Cells& columns) {
    Cells row{grouped(validation.step), number_text(validation.epoch)};
    add_values(row, validation, columns);
    row.push_back(validation.best ? "best so far" : "");
    return row;
}

// `all` includes the members of config.json, which options say in other words.
enum class Compared { options, all };

// Returns a row for each name whose value is not the same in all runs.
std::vector<Cells> differing(const std::vector<Run>& runs, Compared compared) {
    std::map<std::string, Cells> by_name;
    const auto add = [&](const std::string& name, const std::string& value, std::size_t run) {
        by_name.try_emplace(name, runs.size(), "–").first->second[run] = value;
    };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (compared == Compared::all) {
            for (const auto& [name, value] : runs[i].config) add(name, value, i);
        }
        if (!runs[i].saved) continue;
        for (const auto& [name, value] : runs[i].saved->options) add("--" + name, value, i);
        for (const auto& [name, value] : runs[i].saved->versions) add(name, value, i);
    }
    by_name.erase("--model-file");
    std::vector<Cells> rows;
    for (const auto& [name, values] : by_name) {
        if (std::set(values.begin(), values.end()).size() == 1) continue;
        rows.push_back({name});
        rows.back().insert(rows.back().end(), values.begin(), values.end());
    }
    return rows;
}

constexpr const char* no_checkpoint =
    "There is no checkpoint yet, so that the options are not known.";

}  // namespace

std::string validation_table(const History& history) {
    if (history.validation_count() == 0)
        return paragraph(
            "There is no validation: --validation-every-n-epochs or -steps asks for it.");
    std::vector<Validation> shown(history.validations().begin(), history.validations().end());
    if (history.best() && history.best()->step < shown.front().step)
        shown.insert(shown.begin(), *history.best());
    Cells columns = columns_of(shown);
    std::vector<Cells> rows;
    for (const Validation& validation : shown) rows.push_back(row_of(validation, columns));
    columns.insert(columns.begin(), {"step", "epoch"});
    columns.push_back("");
    const std::int64_t left_out =
        history.validation_count() - static_cast<std::int64_t>(shown.size());
    std::string html = table(TableKind::numbers, columns, rows);
    if (left_out > 0) html += paragraph(grouped(left_out) + " earlier validations are not shown.");
    return html;
}

std::string final_table(const History& history) {
    if (history.finals().empty()) return "";
    std::vector<Validation> shown;
    for (const FinalEvaluation& final : history.finals()) shown.push_back(final.values);
    Cells columns = columns_of(shown);
    std::vector<Cells> rows;
    for (const FinalEvaluation& final : history.finals()) {
        rows.push_back({final.split, final.values.best ? "best" : "last"});
        add_values(rows.back(), final.values, columns);
    }
    columns.insert(columns.begin(), {"split", "weights"});
    return table(TableKind::words, columns, rows);
}

std::string checkpoint_table(const Run& run) {
    if (run.checkpoints.empty()) return paragraph("There is no checkpoint yet.");
    std::vector<Cells> rows;
    for (const Checkpoint& checkpoint : run.checkpoints) {
        rows.push_back({checkpoint.name, grouped(checkpoint.step),
                        bytes_text(static_cast<std::int64_t>(checkpoint.bytes)), checkpoint.saved});
    }
    return table(TableKind::numbers, {"folder", "step", "size", "saved"}, rows);
}

std::string options_table(const Run& run) {
    if (!run.saved) return paragraph(no_checkpoint);
    return table(TableKind::words, {"option given", "value"}, rows_of(run.saved->options)) +
           table(TableKind::words, {"version", ""}, rows_of(run.saved->versions));
}

std::string config_table(const Run& run) {
    return table(TableKind::words, {"config.json", "value"}, rows_of(run.config));
}

std::string differences(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    const bool known =
        std::all_of(runs.begin(), runs.end(), [](const Run& run) { return run.saved.has_value(); });
    std::string html = known ? "" : paragraph("Options are known of runs with a checkpoint only.");
    const std::vector<Cells> rows = differing(runs, known ? Compared::options : Compared::all);
    if (rows.empty()) return html + paragraph("No option differs.");
    Cells head{""};
    head.insert(head.end(), labels.begin(), labels.end());
    html += table(TableKind::words, head, rows);
    constexpr std::size_t max_open = 12;
    if (rows.size() <= max_open) return html;
    return folded(grouped(static_cast<std::int64_t>(rows.size())) + " options and versions", html);
}

}  // namespace lockstep::launcher::report
