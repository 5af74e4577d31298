// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "data/loading/step_loader.hpp"

namespace lockstep::launcher {

// Holds everything that a checkpoint says about how the rows of its epoch became steps. With seed
// and lanes it tells exactly which rows of each lane the steps before the checkpoint used.
struct DealingRecord {
    data::DealingOptions now;              // deals from the last change on
    std::vector<std::int64_t> block_rows;  // of each data set; the same for the whole run
    data::EarlierDealings earlier;         // changes in the epoch `earlier.epoch`
};

void to_json(nlohmann::json& json, const DealingRecord& record);
// Throws nlohmann's exceptions when a member is missing or has another type.
void from_json(const nlohmann::json& json, DealingRecord& record);

// Returns the dealings of the epoch at `position` for a run that continues there with `batching`.
data::EarlierDealings dealt_before(const DealingRecord& record, const train::Position& position,
                                   const data::BatchingOptions& batching);

}  // namespace lockstep::launcher
