// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/batching/lane_stream.hpp"
#include "data/batching/window_size.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

// read: the batches contain whole contexts and references of their rows.
enum class ReferenceText { skip, read };

// by_batches: as the batching options have it, with rows of similar length together if they say so.
// of_data: rows come by their numbers, whatever the batching options and the number of shards.
enum class EvalOrder { by_batches, of_data };

struct EvalLoaderOptions {
    BatchingOptions batching;
    std::string split = "valid";
    int rank = 0;
    int world = 1;
    // Number of lanes to which the rows are dealt; a rank loads its lanes one after another, so
    // that micro-batches do not depend on the ranks. 0: as many as ranks.
    std::int64_t lanes = 0;
    std::int64_t max_examples = -1;  // rows over all ranks; <= 0: all
    ReferenceText references = ReferenceText::skip;
    EvalOrder order = EvalOrder::by_batches;  // of_data: for one rank
};

// Loads the rows of a lane of the split. Their order is that of storage, or each
// window is sorted by length; it is always the same.
class EvalLoader final : public train::EvalSource {
public:
    EvalLoader(std::unique_ptr<RowStore> store, const std::vector<std::int64_t>& shard_rows,
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

// Returns the rows per shard if only the first `max_rows` rows in the order of shards are used; <=
// 0: all.
std::vector<std::int64_t> limit_rows(std::vector<std::int64_t> shard_rows, std::int64_t max_rows);
// Does the same for the rows with the lowest numbers.
std::vector<std::int64_t> limit_row_numbers(std::vector<std::int64_t> shard_rows,
                                            std::int64_t max_rows);

// Returns true if the split stores labels as text, which replies are compared with. Plain text and
// the training split have none.
bool holds_references(const Dataset& dataset, std::string_view split);

// Opens the rows of the split that belong to this rank. Their order is always the same.
std::unique_ptr<train::EvalSource> open_eval_source(const Dataset& dataset,
                                                    const EvalLoaderOptions& options);

}  // namespace lockstep::data
