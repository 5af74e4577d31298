// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/dealing_record.hpp"

#include <nlohmann/json.hpp>

#include "runtime/core/json_object.hpp"

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

using Object = JsonObject<nlohmann::json>;

// No data set has more rows, tokens or steps.
constexpr std::int64_t max = std::int64_t{1} << 48;

data::DealingOptions dealing_of(const Object& json) {
    const auto option = [&](const char* name) {
        return json.whole<std::int64_t>(name, {-max, max});
    };
    data::DealingOptions dealing;
    data::BatchingOptions& b = dealing.batching;
    b.batchsize = json.whole<std::int64_t>("batchsize", {1, max});
    b.dynamic = static_cast<data::Dynamic>(
        json.whole<int>("dynamic", {0, static_cast<int>(data::Dynamic::batchsort)}));
    b.batch_tokens = option("batch_tokens");
    b.text_truncate = option("text_truncate");
    b.label_truncate = option("label_truncate");
    b.n_positions = json.whole<std::int64_t>("n_positions", {1, max});
    b.layout = static_cast<data::Layout>(
        json.whole<int>("layout", {0, static_cast<int>(data::Layout::decoder_only)}));
    dealing.window_batches = option("window_batches");
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
    const JsonOrigin origin{"the checkpoint's state.json", ""};
    const Object object(json, origin, "options/dealing");
    record.now = dealing_of(object.object("now"));
    record.block_rows = object.wholes<std::int64_t>("block_rows", {1, max});
    record.earlier.epoch = object.whole<std::int64_t>("epoch", {0, max});
    record.earlier.parts.clear();
    for (const Object& part : object.objects("earlier"))
        record.earlier.parts.push_back(
            {dealing_of(part.object("dealing")), part.whole<std::int64_t>("end_step", {0, max})});
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
