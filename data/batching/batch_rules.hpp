// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/storage/row_store.hpp"
#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens.hpp"

namespace lockstep::data {

// The model sees a row with this size, after truncation.
struct RowSize {
    // encoder_decoder: at least 1, an empty context is one token. decoder_only: positions before
    // the first label; without a start token, the context's last token has this label.
    std::int32_t source = 0;
    std::int32_t label = 0;
    bool truncated = false;

    std::int64_t tokens() const noexcept { return std::int64_t{source} + label; }
};

// Cuts rows into micro-batches by rules, which are the checked batching options with their defaults
// filled in. It is a plain value, and several threads may use it.
//
//  const BatchRules rules(options, dataset.kind());
//  std::vector<std::int64_t> tokens;
//  for (const RowExtent& row : rows) tokens.push_back(rules.fit(row).tokens());
//  const auto begins = rules.cut(tokens);
//  // micro-batch b is rows[begins[b]] up to rows[begins[b + 1]]
class BatchRules {
public:
    // Throws a config error that names the option.
    BatchRules(const BatchingOptions& options, DatasetKind kind, SpecialTokens special = {});

    Dynamic dynamic() const noexcept { return dynamic_; }
    Layout layout() const noexcept { return layout_; }
    std::int64_t batchsize() const noexcept { return batchsize_; }
    // Returns the maximum number of tokens of a micro-batch. A single row may have more. With
    // `full`, batches are filled up to it; otherwise it is the worst case.
    std::int64_t budget() const noexcept { return budget_; }

    const SpecialTokens& special() const noexcept { return special_; }
    // Tells whether the first label is predicted from the last token of the context.
    bool context_predicts() const noexcept {
        return layout_ == Layout::decoder_only && !special_.start;
    }

    // A row with gaps that is cut may become shorter than this: only whole answers are kept.
    RowSize fit(const RowExtent& row) const noexcept;
    // Returns how many positions a row with gaps may have.
    std::int64_t most_positions() const noexcept {
        return std::min(text_truncate_ + label_truncate_, n_positions_);
    }
    // Returns the first row of each micro-batch, and the number of rows at the end, if rows of
    // these sizes are cut in this order. With `full` there are as few micro-batches as the budget
    // allows, of about equal size.
    std::vector<std::size_t> cut(std::span<const std::int64_t> tokens) const;
    // Returns the number of micro-batches that cut() gives.
    std::size_t count(std::span<const std::int64_t> tokens) const noexcept;

private:
    RowSize fit_conversation(const RowExtent& row) const noexcept;

    Dynamic dynamic_;
    Layout layout_;
    SpecialTokens special_;
    std::int64_t batchsize_, text_truncate_, label_truncate_, n_positions_, budget_;
};

// Rounds `total` up to one of eight classes per power of two (at least 16), so that shapes repeat;
// 0 stays 0. The result is 4 % larger on average.
std::int64_t shape_class(std::int64_t total) noexcept;

}  // namespace lockstep::data
