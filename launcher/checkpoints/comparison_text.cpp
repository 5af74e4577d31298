// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "launcher/checkpoints/comparison.hpp"
#include "launcher/text/text_table.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

using Json = nlohmann::ordered_json;

std::string three_digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return text.data();
}

std::string values_text(const char* heading, const std::vector<Differing>& values) {
    if (values.empty()) return "";
    TextTable table;
    table.add({heading, "A", "B"});
    for (const Differing& one : values) table.add({one.name, one.a, one.b});
    return "\n" + table.text();
}

std::string tensors_text(const TensorComparison& tensors) {
    if (!tensors.differs()) return "";
    TextTable table;
    table.add({"tensor", "shape", "differing", "max. absolute", "max. relative"});
    for (const TensorDifference& one : tensors.differing) {
        if (!one.beyond_tolerance) continue;
        const std::string shape = train::shape_text(one.shape);
        if (!one.missing.empty()) {
            table.add({one.name, shape, one.missing, "", ""});
            continue;
        }
        table.add({one.name, shape,
                   grouped(static_cast<std::int64_t>(one.differing)) + " of " +
                       grouped(static_cast<std::int64_t>(one.values)),
                   three_digits(one.largest_absolute), three_digits(one.largest_relative)});
    }
    return "\n" + table.text();
}

std::string verdict_text(const Comparison& c) {
    const auto count = [](std::size_t number, const char* one, const char* more) {
        return counted(static_cast<std::int64_t>(number), one, more);
    };
    const std::size_t total = c.tensors.equal + c.tensors.differing.size();
    if (!c.differs() && c.tensors.differing.empty())
        return "equal: " + count(total, "tensor", "tensors") + " bit for bit\n";
    const std::size_t within = c.tensors.within_tolerance();
    if (!c.differs())
        return "equal within " + three_digits(c.tolerance) + ": " + std::to_string(within) +
               " of " + count(total, "tensor differs", "tensors differ") + " by no more\n";
    return "different: " + count(c.options.size(), "option", "options") + ", " +
           count(c.state.size(), "value of the state", "values of the state") + ", " +
           std::to_string(c.tensors.differing.size() - within) + " of " +
           count(total, "tensor", "tensors") +
           (c.tolerance > 0 ? " by more than " + three_digits(c.tolerance) + "; " +
                                  std::to_string(within) + " by no more"
                            : "") +
           "\n";
}

Json values_json(const std::vector<Differing>& values) {
    Json json = Json::array();
    for (const Differing& one : values)
        json.push_back({{"name", one.name}, {"a", one.a}, {"b", one.b}});
    return json;
}

// JSON has no infinity.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

}  // namespace

std::string text(const Comparison& comparison) {
    std::string text = "A " + printable(comparison.a) + "\nB " + printable(comparison.b) + "\n";
    for (const std::string& note : comparison.notes) text += "note: " + printable(note) + "\n";
    text += values_text("option", comparison.options);
    text += values_text("state", comparison.state);
    text += values_text("version", comparison.versions);
    text += tensors_text(comparison.tensors);
    return text + "\n" + verdict_text(comparison);
}

std::string json_text(const Comparison& comparison) {
    Json tensors = Json::array();
    for (const TensorDifference& one : comparison.tensors.differing)
        tensors.push_back({{"name", one.name},
                           {"shape", one.shape},
                           {"missing", one.missing},
                           {"values", one.values},
                           {"differing", one.differing},
                           {"largest_absolute", number_json(one.largest_absolute)},
                           {"largest_relative", number_json(one.largest_relative)},
                           {"beyond_tolerance", one.beyond_tolerance}});
    const Json json{{"a", comparison.a},
                    {"b", comparison.b},
                    {"differs", comparison.differs()},
                    {"tolerance", comparison.tolerance},
                    {"notes", comparison.notes},
                    {"options", values_json(comparison.options)},
                    {"state", values_json(comparison.state)},
                    {"versions", values_json(comparison.versions)},
                    {"equal_tensors", comparison.tensors.equal},
                    {"tensors_within_tolerance", comparison.tensors.within_tolerance()},
                    {"tensors", tensors}};
    // Paths are bytes, but JSON is UTF-8.
    return dump_json(json, 2) + "\n";
}

}  // namespace lockstep::launcher::checkpoints
