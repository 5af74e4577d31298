// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/batching/lane_stream.hpp"
#include "data/batching/window_size.hpp"
#include "data/loading/eval_loader.hpp"

namespace lockstep::data {

// Loads the rows of a rank, which are a lane of the split. Their order is that of storage, or each
// window is sorted by length; it is always the same.
class LaneEvalLoader final : public train::EvalSource {
public:
    LaneEvalLoader(std::unique_ptr<RowStore> store, const std::vector<std::int64_t>& shard_rows,
                   const BatchRules& rules, WindowSize window, Lane lane, ReferenceText references);

    bool next(train::Batch& batch) override;
    void rewind() override;

private:
    void add_texts(const MicroBatch& micro, train::Batch& batch) const;

    std::unique_ptr<RowStore> store_;
    BatchRules rules_;
    WindowSize window_;
    ReferenceText references_;
    std::vector<RowBlock> blocks_;
    std::optional<LaneStream> stream_;
};

// Returns the rows per shard if only the first `most` rows in the order of shards are used; <= 0:
// all.
std::vector<std::int64_t> limit_rows(std::vector<std::int64_t> shard_rows, std::int64_t most);

}  // namespace lockstep::data
