// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/display.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "data/storage/shard_store.hpp"
#include "data/tokenizers/written_words.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

RowExtent find_row(ShardStore& store, const SplitInfo& split, std::uint64_t row) {
    const std::uint64_t block = row / rows_per_block, shards = split.shards.size();
    std::vector<RowExtent> extents;
    store.append_extents(
        static_cast<int>(block % shards),
        static_cast<std::int64_t>(block / shards * rows_per_block + row % rows_per_block), 1,
        extents);
    return extents.front();
}

// Returns the labels as they were written if the split stores them; otherwise decodes the tokens.
std::string labels_of(ShardStore& store, const RowExtent& extent, const Tokenizer& tokenizer,
                      std::span<const std::int32_t> target) {
    std::string labels;
    for (const std::string& label : store.read_references(extent))
        labels += (labels.empty() ? "" : "|") + label;
    return labels.empty() ? decode_with_control(tokenizer, target) : labels;
}

// Shows the answers of a conversation, and between them what was said to the assistant.
void write_conversation(std::ostream& out, ShardStore& store, const RowExtent& extent,
                        const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
    std::vector<LabelSpan> spans;
    store.read_spans(extent, spans);
    std::size_t done = 0;
    const auto write = [&](const char* indent, std::int32_t until) {
        const auto end = static_cast<std::size_t>(until);
        out << indent
            << printable_lines(decode_with_control(tokenizer, tokens.subspan(done, end - done)))
            << '\n';
        done = end;
    };
    for (const LabelSpan& span : spans) {
        if (span.begin > 0) write("", span.begin);
        write("   ", span.end);
    }
}

bool has_unknown(std::span<const std::int32_t> ids, const Tokenizer& tokenizer) {
    const auto unk = tokenizer.special().unk;
    return unk && std::find(ids.begin(), ids.end(), *unk) != ids.end();
}

}  // namespace

void display(const DisplayOptions& options, std::ostream& out, std::ostream& notes) {
    const Dataset dataset = Dataset::open(options.data);
    const auto tokenizer = open_tokenizer(options.data);
    const std::string& first = dataset.info().splits.at(0).name;
    const SplitInfo& split = dataset.split(options.split.empty() ? first : options.split);
    ShardStore store(dataset, split);
    const std::uint64_t shown = std::min(split.rows, static_cast<std::uint64_t>(options.examples));
    bool unknown = false;
    for (std::uint64_t row = 0; row < shown; ++row) {
        const RowExtent extent = find_row(store, split, row);
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(extent.source + extent.label));
        store.read_tokens(extent.shard, extent.first_token, tokens);
        const std::span<const std::int32_t> all(tokens);
        const auto source = static_cast<std::size_t>(extent.source);
        unknown = unknown || has_unknown(all.first(source), *tokenizer);
        out << "- - - " << printable(split.name) << " " << row << " - - -\n";
        if (extent.has_gaps()) {
            write_conversation(out, store, extent, *tokenizer, all);
            continue;
        }
        const std::string labels = labels_of(store, extent, *tokenizer, all.subspan(source));
        if (source > 0)
            out << printable_lines(decode_with_control(*tokenizer, all.first(source))) << '\n';
        out << "   " << printable_lines(labels) << '\n';
    }
    out << printable(split.name) << ": " << shown << " of " << split.rows << " rows\n";
    // Of rows that could not be shown nothing is explained.
    if (unknown && out.flush()) notes << delimiter_note(dataset, *tokenizer);
}

std::string delimiter_note(const Dataset& dataset, const Tokenizer& tokenizer) {
    const nlohmann::json options = try_parse_json(dataset.info().options);
    const auto delimiter = options.find("delimiter");
    if (!options.is_object() || delimiter == options.end() || !delimiter->is_string()) return "";
    std::vector<std::int32_t> ids;
    encode_delimiter(tokenizer, delimiter->get_ref<const std::string&>(), ids);
    if (!has_unknown(ids, tokenizer)) return "";
    return "note: __unk__ between turns is the delimiter, which the dictionary does not have; a "
           "model sees the same in ParlAI\n";
}

}  // namespace lockstep::data
