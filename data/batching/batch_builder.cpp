// SPDX-License-Identifier: Apache-2.0
#include "data/batching/batch_builder.hpp"

#include <algorithm>

#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {
namespace {

using Tokens = std::span<const std::int32_t>;

constexpr std::int32_t no_label = -1;

void reserve(train::RaggedTokens& ragged, std::size_t sequences, std::int64_t real) {
    const auto total = static_cast<std::size_t>(shape_class(real));
    ragged.tokens.reserve(total);
    ragged.offsets.reserve(sequences + 1);
    ragged.offsets.push_back(0);
}

// Ends a sequence: it consists of the tokens appended since the previous one.
void end_sequence(train::RaggedTokens& ragged) {
    const auto length = static_cast<std::int32_t>(ragged.tokens.size()) - ragged.offsets.back();
    ragged.offsets.push_back(ragged.offsets.back() + length);
    ragged.longest = std::max(ragged.longest, length);
}

void add_filler(train::RaggedTokens& ragged) {
    const auto total = static_cast<std::size_t>(shape_class(ragged.real()));
    ragged.tokens.resize(total, SpecialTokens{}.null);
}

void append(std::vector<std::int32_t>& out, Tokens tokens) {
    out.insert(out.end(), tokens.begin(), tokens.end());
}

// The decoder reads the label shifted right after __start__, and its outputs are the label.
void append_label(train::Batch& batch, Tokens label) {
    batch.last_labels.push_back(label.empty() ? no_label : label.back());
    if (label.empty()) return;
    batch.target.tokens.push_back(SpecialTokens{}.start);
    append(batch.target.tokens, label.first(label.size() - 1));
    append(batch.labels, label);
    batch.label_tokens += static_cast<std::int64_t>(label.size());
}

void append_source(train::Batch& batch, Tokens context) {
    if (context.empty())
        batch.source.tokens.push_back(SpecialTokens{}.null);
    else
        append(batch.source.tokens, context);
    end_sequence(batch.source);
}

void append_row(train::Batch& batch, const RowExtent& row, RowSize size, Tokens tokens,
                Layout layout) {
    const auto source = static_cast<std::size_t>(row.source);
    const auto kept = static_cast<std::size_t>(std::min(size.source, row.source));
    const Tokens context = tokens.first(source).last(kept);
    if (layout == Layout::encoder_decoder) {
        append_source(batch, context);
        batch.label_starts.push_back(0);
    } else {
        batch.label_starts.push_back(static_cast<std::int32_t>(kept));
        append(batch.target.tokens, context);
        batch.labels.resize(batch.labels.size() + kept, no_label);
    }
    append_label(batch, tokens.subspan(source, static_cast<std::size_t>(size.label)));
    end_sequence(batch.target);
    batch.rows.push_back(row.row);
    batch.truncated_rows += size.truncated ? 1 : 0;
}

}  // namespace

train::Batch build_batch(const Window& window, std::size_t number, const BatchRules& rules,
                         train::LanePart part) {
    const std::span<const RowExtent> all = window.rows(number);
    const std::size_t begin = part.begin(all.size());
    const std::span<const RowExtent> rows = all.subspan(begin, part.end(all.size()) - begin);
    if (rows.empty()) return {};
    const bool two_sided = rules.layout() == Layout::encoder_decoder;
    std::int64_t sources = 0, labels = 0;
    for (const RowExtent& row : rows) {
        sources += rules.fit(row).source;
        labels += rules.fit(row).label;
    }
    train::Batch batch;
    if (two_sided) reserve(batch.source, rows.size(), sources);
    reserve(batch.target, rows.size(), two_sided ? labels : sources + labels);
    for (std::size_t i = 0; i < rows.size(); ++i)
        append_row(batch, rows[i], rules.fit(rows[i]),
                   window.tokens(window.plan().begins[number] + begin + i), rules.layout());
    if (two_sided) add_filler(batch.source);
    add_filler(batch.target);
    batch.labels.resize(batch.target.tokens.size(), no_label);
    return batch;
}

}  // namespace lockstep::data
