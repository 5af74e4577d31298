// SPDX-License-Identifier: Apache-2.0
#include "data/batching/batch_builder.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "runtime/core/error.hpp"

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

// Filler changes nothing, so any token does.
void add_filler(train::RaggedTokens& ragged, const SpecialTokens& special) {
    const auto total = static_cast<std::size_t>(shape_class(ragged.real()));
    ragged.tokens.resize(total, special.null.value_or(0));
}

void append(std::vector<std::int32_t>& out, Tokens tokens) {
    out.insert(out.end(), tokens.begin(), tokens.end());
}

// The decoder reads the label shifted right after __start__, or after the context's last token, and
// its outputs are the label.
void append_label(train::Batch& batch, Tokens label, std::optional<std::int32_t> start) {
    batch.last_labels.push_back(label.empty() ? no_label : label.back());
    if (label.empty()) return;
    if (start) batch.target.tokens.push_back(*start);
    append(batch.target.tokens, label.first(label.size() - 1));
    append(batch.labels, label);
    batch.label_tokens += static_cast<std::int64_t>(label.size());
}

// Appends a context; an empty one is the token that stands for it.
void append_context(train::RaggedTokens& side, Tokens context, const SpecialTokens& special) {
    append(side.tokens, context);
    if (!context.empty()) return;
    const auto token = special.empty_context();
    if (!token)
        throw Error(ErrorKind::data,
                    "a row of the data set has no context, and its tokenizer has no token that "
                    "begins a text; run 'lockstep prepare' again");
    side.tokens.push_back(*token);
}

// Of a row that is too long, the answers are kept that end in time, with all before them. If the
// first one does not, the row loses its front, and the end of the answer only if nothing else is
// left.
LabelSpan kept_part(std::span<const LabelSpan> spans, std::int64_t most_positions) {
    const auto most =
        static_cast<std::int32_t>(std::min<std::int64_t>(most_positions + 1, 1 << 30));
    const LabelSpan first = spans.front();
    if (first.end > most) {
        const std::int32_t begin = std::min(first.end - most, first.begin - 1);
        return {begin, std::min(first.end, begin + most)};
    }
    const auto late =
        std::ranges::find_if(spans, [most](const LabelSpan& span) { return span.end > most; });
    return {0, std::prev(late)->end};
}

// Each token of a span has its label where the token before it is read.
void append_conversation(train::Batch& batch, const RowExtent& row, RowSize size, Tokens tokens,
                         std::span<const LabelSpan> spans, const BatchRules& rules) {
    if (spans.empty() || spans.front().begin < 1 || !rules.context_predicts())
        throw Error(ErrorKind::data,
                    "a row of the data set has several answers, which its tokenizer and the model "
                    "cannot read in one; run 'lockstep prepare' again");
    const LabelSpan kept = kept_part(spans, rules.most_positions());
    const auto begin = static_cast<std::size_t>(kept.begin),
               end = static_cast<std::size_t>(kept.end);
    append(batch.target.tokens, tokens.subspan(begin, end - begin - 1));
    const std::size_t at = batch.labels.size();
    batch.labels.resize(at + end - begin - 1, no_label);
    for (const LabelSpan& span : spans)
        for (std::int32_t i = span.begin; i < std::min(span.end, kept.end); ++i) {
            batch.labels[at + static_cast<std::size_t>(i - 1 - kept.begin)] =
                tokens[static_cast<std::size_t>(i)];
            ++batch.label_tokens;
        }
    end_sequence(batch.target);
    batch.rows.push_back(row.row);
    batch.truncated_rows += size.truncated ? 1 : 0;
}

void append_row(train::Batch& batch, const RowExtent& row, RowSize size, Tokens tokens,
                const BatchRules& rules) {
    const auto source = static_cast<std::size_t>(row.source);
    const bool shared = rules.context_predicts();
    const auto kept =
        static_cast<std::size_t>(std::min(size.source + (shared ? 1 : 0), row.source));
    const Tokens context = tokens.first(source).last(kept);
    const Tokens label = tokens.subspan(source, static_cast<std::size_t>(size.label));
    if (rules.layout() == Layout::encoder_decoder) {
        append_context(batch.source, context, rules.special());
        end_sequence(batch.source);
        batch.label_starts.push_back(0);
    } else {
        batch.label_starts.push_back(size.source);
        if (shared)
            append_context(batch.target, context, rules.special());
        else
            append(batch.target.tokens, context);
        batch.labels.resize(batch.labels.size() + static_cast<std::size_t>(size.source), no_label);
    }
    append_label(batch, label, shared ? std::nullopt : rules.special().start);
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
    const std::size_t first = window.plan().begins[number] + begin;
    bool derived = true;  // the labels follow from the tokens
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const RowSize size = rules.fit(rows[i]);
        const Tokens tokens = window.tokens(first + i);
        derived = derived && !rows[i].has_gaps();
        if (rows[i].has_gaps())
            append_conversation(batch, rows[i], size, tokens, window.spans(first + i), rules);
        else
            append_row(batch, rows[i], size, tokens, rules);
    }
    if (!derived) {
        batch.label_starts.clear();
        batch.last_labels.clear();
    }
    if (two_sided) add_filler(batch.source, rules.special());
    add_filler(batch.target, rules.special());
    batch.labels.resize(batch.target.tokens.size(), no_label);
    return batch;
}

}  // namespace lockstep::data
