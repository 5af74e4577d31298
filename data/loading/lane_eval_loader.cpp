// SPDX-License-Identifier: Apache-2.0
#include "data/loading/lane_eval_loader.hpp"

#include <algorithm>
#include <utility>

#include "data/batching/batch_builder.hpp"

namespace lockstep::data {

LaneEvalLoader::LaneEvalLoader(std::unique_ptr<RowStore> store,
                               const std::vector<std::int64_t>& shard_rows, const BatchRules& rules,
                               WindowSize window, Lane lane, ReferenceText references)
    : store_(std::move(store)),
      rules_(rules),
      window_(window),
      references_(references),
      blocks_(lane_blocks(shard_rows, window.block_rows, lane)) {
    rewind();
}

void LaneEvalLoader::rewind() {
    stream_.emplace(LanePlanner(std::make_unique<BlockFeed>(*store_, blocks_), rules_, {},
                                window_.batches, RowOrder::as_stored),
                    *store_);
}

bool LaneEvalLoader::next(train::Batch& batch) {
    const MicroBatch micro = stream_->next();
    if (micro.empty()) return false;
    batch = build_batch(*micro.window, micro.number, rules_);
    if (references_ == ReferenceText::read) add_texts(micro, batch);
    return true;
}

void LaneEvalLoader::add_texts(const MicroBatch& micro, train::Batch& batch) const {
    const std::size_t begin = micro.window->plan().begins[micro.number];
    for (const RowExtent& row : micro.window->rows(micro.number)) {
        const auto tokens = micro.window->tokens(begin + batch.contexts.size());
        const auto context = tokens.first(static_cast<std::size_t>(row.source));
        batch.contexts.emplace_back(context.begin(), context.end());
        batch.references.push_back(store_->read_references(row));
    }
}

std::vector<std::int64_t> limit_rows(std::vector<std::int64_t> shard_rows, std::int64_t most) {
    if (most <= 0) return shard_rows;
    for (std::int64_t& rows : shard_rows) {
        rows = std::min(rows, most);
        most -= rows;
    }
    return shard_rows;
}

}  // namespace lockstep::data
