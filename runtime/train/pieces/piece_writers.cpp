// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/piece_writers.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/comm/texts.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::train {

namespace {

using Json = nlohmann::json;

void add(PieceWriters::Outcome& all, const std::string& text) {
    const Json json = parse_json(text);
    for (const auto& [name, file] : json.at("files").items())
        all.files[name] = {file.at(0).get<std::uint64_t>(), file.at(1).get<std::uint64_t>()};
    if (all.failure || !json.contains("failure")) return;
    all.failure.emplace(json.at("failure").get<std::string>(), json.at("code").get<int>());
}

}  // namespace

void PieceWriters::begin(const std::string& folder, Write write) {
    folder_ = folder;
    write_ = std::move(write);
    again();
}

void PieceWriters::again() {
    own_ = {};
    if (writer_.rank >= writer_.writers) return;
    thread_.start([this] {
        try {
            own_.files = write_(folder_);
        } catch (const SystemFailure& failure) {
            own_.failure.emplace(failure);
        }
    });
}

PieceWriters::Outcome PieceWriters::finish() {
    thread_.wait();
    Outcome all;
    for (const std::string& text : comm::gather_texts(ranks_, outcome_text(), "written pieces"))
        add(all, text);
    return all;
}

std::string PieceWriters::outcome_text() const {
    Json json{{"files", Json::object()}};
    for (const auto& [name, file] : own_.files) json["files"][name] = {file.bytes, file.xxh3};
    if (own_.failure) {
        json["code"] = own_.failure->code();
        json["failure"] =
            "rank " + std::to_string(writer_.rank) + " on " + host_ + ": " + own_.failure->what();
    }
    return dump_json(json);
}

}  // namespace lockstep::train
