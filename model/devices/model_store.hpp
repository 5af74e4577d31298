// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    train::ParameterTable table = parameter_table(config);
    if (share.world > 1) table.pad_for(share.world);
    table.share_among(share.ranks, share.stage);
    return {table, precision, master, train::owned_parts(table, share.buckets, share.rank),
            train::plan_segments(table, share.buckets)};
}

}  // namespace lockstep::model
