// SPDX-License-Identifier: Apache-2.0
#include "data/loading/eval_loader.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "data/batching/batch_builder.hpp"
#include "data/storage/shard_store.hpp"
#include "runtime/batch/lane_range.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {

namespace {

using Open = std::function<std::unique_ptr<train::EvalSource>(std::int64_t lane)>;

// Loads lanes one after another. Only the current one has files open.
class EvalLanes final : public train::EvalSource {
public:
    EvalLanes(train::LaneRange lanes, Open open)
        : lanes_(lanes), open_(std::move(open)), next_(lanes.first) {}

    bool next(train::Batch& batch) override {
        while (!source_ || !source_->next(batch)) {
            if (next_ == lanes_.end) return false;
            source_ = open_(next_++);
        }
        return true;
    }
    void rewind() override {
        source_.reset();
        next_ = lanes_.first;
    }

private:
    train::LaneRange lanes_;
    Open open_;
    std::int64_t next_;
    std::unique_ptr<train::EvalSource> source_;
};

}  // namespace

EvalLoader::EvalLoader(std::unique_ptr<RowStore> store, const std::vector<std::int64_t>& shard_rows,
                       const BatchRules& rules, WindowSize window, Lane lane,
                       ReferenceText references)
    : store_(std::move(store)),
      rules_(rules),
      window_(window),
      references_(references),
      blocks_(lane_blocks(shard_rows, window.block_rows, lane)) {
    rewind();
}

void EvalLoader::rewind() {
    stream_.emplace(LanePlanner(std::make_unique<BlockFeed>(*store_, blocks_), rules_, {},
                                window_.batches, RowOrder::as_stored),
                    *store_);
}

bool EvalLoader::next(train::Batch& batch) {
    const MicroBatch micro = stream_->next();
    if (micro.empty()) return false;
    batch = build_batch(*micro.window, micro.number, rules_);
    if (references_ == ReferenceText::read) add_texts(micro, batch);
    return true;
}

void EvalLoader::add_texts(const MicroBatch& micro, train::Batch& batch) const {
    const std::size_t begin = micro.window->plan().begins[micro.number];
    for (const RowExtent& row : micro.window->rows(micro.number)) {
        const auto tokens = micro.window->tokens(begin + batch.contexts.size());
        const auto context = tokens.first(static_cast<std::size_t>(row.source));
        batch.contexts.emplace_back(context.begin(), context.end());
        batch.references.push_back(store_->read_references(row));
    }
}

std::vector<std::int64_t> limit_rows(std::vector<std::int64_t> shard_rows, std::int64_t max_rows) {
    if (max_rows <= 0) return shard_rows;
    for (std::int64_t& rows : shard_rows) {
        rows = std::min(rows, max_rows);
        max_rows -= rows;
    }
    return shard_rows;
}

std::vector<std::int64_t> limit_row_numbers(std::vector<std::int64_t> shard_rows,
                                            std::int64_t max_rows) {
    if (max_rows <= 0) return shard_rows;
    const auto shards = static_cast<std::int64_t>(shard_rows.size());
    const auto block_rows = static_cast<std::int64_t>(rows_per_block);
    const std::int64_t blocks = max_rows / block_rows, rest = max_rows % block_rows;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
        std::int64_t rows = blocks / shards * block_rows;
        if (shard < blocks % shards) rows += block_rows;
        if (shard == blocks % shards) rows += rest;
        std::int64_t& has = shard_rows[static_cast<std::size_t>(shard)];
        has = std::min(has, rows);
    }
    return shard_rows;
}

bool holds_references(const Dataset& dataset, std::string_view split) {
    return dataset.kind() == DatasetKind::dialogue && split != format::train_split;
}

namespace {

// Blocks as long as those of shards make a lane's order the one of the data.
std::unique_ptr<train::EvalSource> open_in_order(const Dataset& dataset,
                                                 const EvalLoaderOptions& options) {
    require(options.world == 1, "the order of the data is for one rank");
    const SplitInfo& split = dataset.split(options.split);
    BatchingOptions batching = options.batching;
    batching.dynamic = Dynamic::off;
    batching.batch_tokens = 0;
    const BatchRules rules(batching, dataset.kind(), dataset.special());
    WindowSize window = choose_window(split, rules, 1, 0);
    window.block_rows = rows_per_block;
    return std::make_unique<EvalLoader>(std::make_unique<ShardStore>(dataset, split),
                                        limit_row_numbers(shard_rows(split), options.max_examples),
                                        rules, window, Lane{}, options.references);
}

}  // namespace

std::unique_ptr<train::EvalSource> open_eval_source(const Dataset& dataset,
                                                    const EvalLoaderOptions& options) {
    if (options.order == EvalOrder::of_data) return open_in_order(dataset, options);
    require(options.world > 0 && options.rank >= 0 && options.rank < options.world,
            "a rank of the world");
    const SplitInfo& split = dataset.split(options.split);
    const BatchRules rules(options.batching, dataset.kind(), dataset.special());
    const std::int64_t lanes = options.lanes > 0 ? options.lanes : options.world;
    const auto open = [&dataset, &split, rules, lanes, max = options.max_examples,
                       references = options.references](std::int64_t lane) {
        return std::make_unique<EvalLoader>(
            std::make_unique<ShardStore>(dataset, split), limit_rows(shard_rows(split), max), rules,
            choose_window(split, rules, lanes, 0), Lane{lane, lanes}, references);
    };
    if (options.lanes <= 0) return open(options.rank);
    return std::make_unique<EvalLanes>(train::lanes_of_rank(lanes, options.rank, options.world),
                                       open);
}

}  // namespace lockstep::data
