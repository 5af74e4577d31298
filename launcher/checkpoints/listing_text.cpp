// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "launcher/checkpoints/listing.hpp"
#include "launcher/text/text_table.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

using Json = nlohmann::ordered_json;

std::string kept_text(const ListedCheckpoint& listed) {
    switch (listed.state) {
        case ListedState::complete:
            return listed.kept_by.empty() ? "-" : joined(listed.kept_by);
        case ListedState::damaged:
            return "DAMAGED";
        case ListedState::set_aside:
            return "set aside: damaged";
        case ListedState::unfinished:
            return "unfinished: the next save removes it";
        case ListedState::unreadable:
            break;
    }
    return "UNREADABLE";
}

std::string size_text(std::uint64_t bytes) {
    return bytes == 0 ? "-" : bytes_text(static_cast<std::int64_t>(bytes));
}

std::vector<std::string> cells(const ListedCheckpoint& listed) {
    const auto shown = [](bool known, const std::string& text) { return known ? text : "-"; };
    const bool has_manifest = listed.format > 0, has_state = listed.problem.empty();
    return {listed.name,
            grouped(listed.step),
            shown(has_state, digits(listed.epochs)),
            shown(has_state, grouped(listed.updates)),
            listed.saved.empty() ? "-" : listed.saved,
            shown(has_manifest, std::to_string(listed.format)),
            shown(has_manifest, std::to_string(listed.parts)),
            size_text(listed.bytes),
            kept_text(listed)};
}

std::string six_digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return text.data();
}

std::string model_text(const Listing& listing) {
    if (!listing.model) return "no weights yet (model.safetensors)\n";
    const ListedModel& model = *listing.model;
    // Without a validation nobody knows whether other weights are better.
    std::string text = std::string(model.best ? "best weights" : "weights") + ": " + model.file +
                       ", " + size_text(model.bytes) + ", saved " + model.saved;
    if (model.best)
        text += ", " + (model.metric.empty() ? "validation value" : model.metric) + " " +
                six_digits(*model.best);
    return text + "\n";
}

}  // namespace

std::string text(const Listing& listing) {
    std::string text = printable(listing.folder) + "\n";
    if (!listing.writer.empty()) text += "a run writes into it: " + listing.writer + "\n";
    if (!listing.ended.empty())
        text += "no run writes into it: " + listing.ended +
                ", has ended and left its lock; the next run takes the folder over\n";
    text += model_text(listing);
    if (listing.checkpoints.empty()) return text + "no checkpoints\n";
    TextTable table;
    table.add(
        {"checkpoint", "step", "epochs", "updates", "saved", "format", "parts", "size", "kept by"});
    for (const ListedCheckpoint& listed : listing.checkpoints) table.add(cells(listed));
    text += "\n" + table.text();
    for (const ListedCheckpoint& listed : listing.checkpoints)
        if (listed.state == ListedState::damaged || listed.state == ListedState::unreadable)
            text += kept_text(listed) + " " + printable(listed.problem) + "\n";
    return text;
}

std::string json_text(const Listing& listing) {
    Json json{{"folder", listing.folder},
              {"run", listing.writer.empty() ? Json() : Json(listing.writer)},
              {"ended_run", listing.ended.empty() ? Json() : Json(listing.ended)},
              {"model", nullptr},
              {"checkpoints", Json::array()}};
    if (const auto& model = listing.model)
        json["model"] = {{"bytes", model->bytes},
                         {"saved", model->saved},
                         {"best", model->best ? Json(*model->best) : Json()},
                         {"metric", model->metric.empty() ? Json() : Json(model->metric)}};
    for (const ListedCheckpoint& listed : listing.checkpoints)
        json["checkpoints"].push_back({{"name", listed.name},
                                       {"state", name(listed.state)},
                                       {"problem", listed.problem},
                                       {"step", listed.step},
                                       {"epochs", listed.epochs},
                                       {"updates", listed.updates},
                                       {"saved", listed.saved},
                                       {"format", listed.format},
                                       {"parts", listed.parts},
                                       {"bytes", listed.bytes},
                                       {"kept_by", listed.kept_by}});
    // Paths are bytes, but JSON is UTF-8.
    return dump_json(json, 2) + "\n";
}

}  // namespace lockstep::launcher::checkpoints
