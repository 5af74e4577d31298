// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/dealing_record.hpp"

#include <nlohmann/json.hpp>

namespace lockstep::launcher {

namespace {

nlohmann::json json_of(const data::DealingOptions& dealing) {
    const data::BatchingOptions& b = dealing.batching;
    return {{"batchsize", b.batchsize},
            {"dynamic", static_cast<int>(b.dynamic)},
            {"batch_tokens", b.batch_tokens},
            {"text_truncate", b.text_truncate},
            {"label_truncate", b.label_truncate},
            {"n_positions", b.n_positions},
            {"layout", static_cast<int>(b.layout)},
            {"window_batches", dealing.window_batches}};
}

data::DealingOptions dealing_of(const nlohmann::json& json) {
    data::DealingOptions dealing;
    data::BatchingOptions& b = dealing.batching;
    json.at("batchsize").get_to(b.batchsize);
    b.dynamic = static_cast<data::Dynamic>(json.at("dynamic").get<int>());
    json.at("batch_tokens").get_to(b.batch_tokens);
    json.at("text_truncate").get_to(b.text_truncate);
    json.at("label_truncate").get_to(b.label_truncate);
    json.at("n_positions").get_to(b.n_positions);
    b.layout = static_cast<data::Layout>(json.at("layout").get<int>());
    json.at("window_batches").get_to(dealing.window_batches);
    return dealing;
}

}  // namespace

void to_json(nlohmann::json& json, const DealingRecord& record) {
    json = {{"now", json_of(record.now)},
            {"block_rows", record.block_rows},
            {"epoch", record.earlier.epoch},
            {"earlier", nlohmann::json::array()}};
    for (const auto& part : record.earlier.parts)
        json["earlier"].push_back(
            {{"end_step", part.end_step}, {"dealing", json_of(part.dealing)}});
}

void from_json(const nlohmann::json& json, DealingRecord& record) {
    record.now = dealing_of(json.at("now"));
    json.at("block_rows").get_to(record.block_rows);
    json.at("epoch").get_to(record.earlier.epoch);
    record.earlier.parts.clear();
    for (const auto& part : json.at("earlier"))
        record.earlier.parts.push_back(
            {dealing_of(part.at("dealing")), part.at("end_step").get<std::int64_t>()});
}

data::EarlierDealings dealt_before(const DealingRecord& record, const train::Position& position,
                                   const data::BatchingOptions& batching) {
    data::EarlierDealings earlier{position.epoch, {}};
    if (record.earlier.epoch == position.epoch) earlier.parts = record.earlier.parts;
    const std::int64_t dealt = earlier.parts.empty() ? 0 : earlier.parts.back().end_step;
    if (position.step_in_epoch > dealt && record.now.batching != batching)
        earlier.parts.push_back({record.now, position.step_in_epoch});
    return earlier;
}

}  // namespace lockstep::launcher
