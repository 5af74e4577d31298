// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/storage/row_store.hpp"
#include "data/storage/shard_format.hpp"

namespace lockstep::data {

// What a model sees of a row.
struct RowSize {
    std::int32_t source = 0;  // encoder_decoder: at least 1, an empty context is one __null__
    std::int32_t label = 0;
    bool truncated = false;

    std::int64_t tokens() const noexcept { return std::int64_t{source} + label; }
};

// Batching options, checked, with their defaults filled in.
class BatchRules {
public:
    // Throws a config error that names the option.
    BatchRules(const BatchingOptions& options, DatasetKind kind);

    Dynamic dynamic() const noexcept { return dynamic_; }
    Layout layout() const noexcept { return layout_; }
    std::int64_t batchsize() const noexcept { return batchsize_; }
    // Most tokens of a micro-batch, unless a single row has more; a worst case unless `full`.
    std::int64_t budget() const noexcept { return budget_; }

    RowSize fit(const RowExtent& row) const noexcept;
    // Where micro-batches begin when rows of these sizes are cut in this order, and the end. With
    // `full` they are as few as the budget allows and about equal.
    std::vector<std::size_t> cut(std::span<const std::int64_t> tokens) const;
    // How many micro-batches cut() gives.
    std::size_t count(std::span<const std::int64_t> tokens) const noexcept;

private:
    Dynamic dynamic_;
    Layout layout_;
    std::int64_t batchsize_, text_truncate_, label_truncate_, n_positions_, budget_;
};

// `total`, rounded up to one of eight classes per power of two (16 at least), so that shapes
// repeat; 0 stays 0. On average 4 % more.
std::int64_t shape_class(std::int64_t total) noexcept;

}  // namespace lockstep::data
