// SPDX-License-Identifier: Apache-2.0
#include "data/batching/batch_rules.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

void check(const BatchingOptions& options, DatasetKind kind) {
    const auto fail = [](const std::string& what) { throw Error(ErrorKind::config, what); };
    if (options.batchsize < 1)
        fail("--batchsize " + std::to_string(options.batchsize) + ": must be at least 1");
    if (options.batch_tokens < 0)
        fail("--batch-tokens " + std::to_string(options.batch_tokens) + ": must not be negative");
    if (options.batch_tokens > 0 && options.dynamic == Dynamic::batchsort)
        fail(
            "--batch-tokens sets the budget of --dynamic-batching full; drop one of them or "
            "leave batchsort");
    if (options.n_positions < 2)
        fail("--n-positions " + std::to_string(options.n_positions) + ": must be at least 2");
    if (kind == DatasetKind::language_model && options.layout == Layout::encoder_decoder)
        fail(
            "the data set holds plain text, which only a decoder-only model (gpt2) trains on; "
            "choose that model or prepare dialogues");
}

std::int64_t truncation(std::int64_t asked, std::int64_t n_positions) {
    return asked > 0 ? std::min(asked, n_positions) : n_positions;
}

// Calls begin(i) for every row i that starts a batch if batches are filled up to `cap` tokens. A
// row above the cap gets a batch of its own.
template <class Begin>
void fill(std::span<const std::int64_t> tokens, std::int64_t cap, Begin begin) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i == 0 || sum + tokens[i] > cap) {
            begin(i);
            sum = 0;
        }
        sum += tokens[i];
    }
}

std::size_t filled_batches(std::span<const std::int64_t> tokens, std::int64_t cap) {
    std::size_t count = 0;
    fill(tokens, cap, [&](std::size_t) { ++count; });
    return count;
}

// Returns the smallest cap that needs no more batches than `most` does, so that no small batch is
// left over.
std::int64_t level_cap(std::span<const std::int64_t> tokens, std::int64_t most) {
    const std::size_t batches = filled_batches(tokens, most);
    std::int64_t low = 1, high = most;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (filled_batches(tokens, middle) <= batches)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

}  // namespace

BatchRules::BatchRules(const BatchingOptions& options, DatasetKind kind, SpecialTokens special)
    : dynamic_(options.batch_tokens > 0 ? Dynamic::full : options.dynamic),
      layout_(options.layout),
      special_(std::move(special)),
      batchsize_(options.batchsize),
      text_truncate_(truncation(options.text_truncate, options.n_positions)),
      label_truncate_(truncation(options.label_truncate, options.n_positions)),
      n_positions_(options.n_positions),
      budget_(options.batch_tokens) {
    check(options, kind);
    if (layout_ == Layout::encoder_decoder && !special_.start)
        throw Error(ErrorKind::config,
                    "the data set's tokenizer has no token that a decoder begins a label with, "
                    "which a model with an encoder needs; train -m gpt2 on it");
    if (budget_ > 0) return;
    const std::int64_t both = text_truncate_ + label_truncate_;
    const std::int64_t longest_row =
        layout_ == Layout::encoder_decoder ? both : std::min(both, n_positions_);
    budget_ = longest_row * batchsize_;
}

// A conversation keeps its beginning, in which the system speaks.
RowSize BatchRules::fit_conversation(const RowExtent& row) const noexcept {
    const std::int64_t whole = std::int64_t{row.source} + row.label - 1, most = most_positions();
    const std::int64_t all = std::min(whole, most);
    const std::int64_t source = std::min<std::int64_t>(row.source - 1, all - 1);
    return {static_cast<std::int32_t>(source), static_cast<std::int32_t>(all - source),
            whole > most};
}

RowSize BatchRules::fit(const RowExtent& row) const noexcept {
    if (row.has_gaps() && row.source > 0 && context_predicts()) return fit_conversation(row);
    const std::int64_t label = std::min<std::int64_t>(row.label, label_truncate_);
    std::int64_t source = std::min<std::int64_t>(row.source, text_truncate_);
    // A start token takes the first label's position; else the last token of the context does.
    const std::int64_t shared = context_predicts() ? 1 : 0;
    if (layout_ == Layout::decoder_only) source = std::min(source, n_positions_ - label + shared);
    const bool truncated = source < row.source || label < row.label;
    source = std::max<std::int64_t>(source - shared, 0);
    // A source needs at least one token: attention over no keys is undefined.
    if (layout_ == Layout::encoder_decoder) source = std::max<std::int64_t>(source, 1);
    return {static_cast<std::int32_t>(source), static_cast<std::int32_t>(label), truncated};
}

std::size_t BatchRules::count(std::span<const std::int64_t> tokens) const noexcept {
    if (dynamic_ == Dynamic::full) return filled_batches(tokens, budget_);
    return (tokens.size() + static_cast<std::size_t>(batchsize_) - 1) /
           static_cast<std::size_t>(batchsize_);
}

std::vector<std::size_t> BatchRules::cut(std::span<const std::int64_t> tokens) const {
    std::vector<std::size_t> begins;
    if (dynamic_ == Dynamic::full)
        fill(tokens, level_cap(tokens, budget_), [&](std::size_t i) { begins.push_back(i); });
    else
        for (std::size_t i = 0; i < tokens.size(); i += static_cast<std::size_t>(batchsize_))
            begins.push_back(i);
    begins.push_back(tokens.size());
    return begins;
}

std::int64_t shape_class(std::int64_t total) noexcept {
    if (total <= 0) return 0;
    const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(total)));
    const std::int64_t step = std::max<std::int64_t>(16, power / 16);
    return (total + step - 1) / step * step;
}

}  // namespace lockstep::data
