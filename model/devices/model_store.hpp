// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/layout.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/reduction/buckets.hpp"

namespace lockstep::model {

// Makes the store of one rank of a run. Buckets and their even parts, and so the order of sums, are
// the same at all stages.
template <class Space>
train::ParameterStore<Space> make_store(const ModelConfig& config, train::Precision precision,
                                        train::Master master, const train::ReplicaShare& share) {
    train::ParameterTable table = parameter_table(config, share.tensor, share.pipeline);
    if (share.world > 1) table.pad_for(share.world);
    table.share_among(share.ranks, share.stage);
    return {table,
            precision,
            share.file != nullptr ? train::Master::stored : master,
            train::owned_parts(table, share.buckets, share.rank),
            train::plan_segments(table, share.buckets),
            share.gradients,
            share.file};
}

// Makes the store of a base that adapters are added to: its weights as they compute, and no more.
// Returns nothing for an empty table.
template <class Space>
std::unique_ptr<const train::ParameterStore<Space>> make_frozen_store(
    const train::ParameterTable& table, train::Precision precision) {
    if (table.all().empty()) return nullptr;
    const bool fp32 = precision == train::Precision::fp32;
    return std::make_unique<const train::ParameterStore<Space>>(
        table, precision, fp32 ? train::Master::kept : train::Master::none,
        std::vector<train::OwnedPart>(), std::vector<train::Segment>(), train::Gradients::none);
}

}  // namespace lockstep::model
