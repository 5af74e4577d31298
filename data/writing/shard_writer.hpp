// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/hdf5/hdf5_writer.hpp"
#include "data/storage/label_span.hpp"
#include "data/storage/shard_format.hpp"

namespace lockstep::data {

enum class References { none, kept };
// of_target: all tokens of a target have labels. in_spans: those in the spans of its row have.
enum class Labels { of_target, in_spans };

// All shards of a split share these properties.
struct SplitDescription {
    std::string split;
    DatasetKind kind = DatasetKind::dialogue;
    int shards = 1;
    std::string tokenizer, dictionary_hash;
    References references = References::none;
    Labels labels = Labels::of_target;
};

// A row is written as it is given here: the caller has already appended __end__ to the target if
// the target needs it.
struct ShardRow {
    std::uint32_t id = 0;
    std::span<const std::int32_t> source, target;
    std::span<const LabelSpan> spans;              // empty without Labels::in_spans
    std::span<const std::string_view> references;  // empty without References::kept
};

// Writes one shard file. Buffers one chunk of each dataset.
class ShardWriter {
public:
    ShardWriter(const std::string& directory, const SplitDescription& description, int shard);

    void add(const ShardRow& row);
    // Completes the file. Nothing can be added afterwards.
    void close();

    const std::string& path() const noexcept { return file_.path(); }
    std::uint64_t rows() const noexcept { return rows_; }
    std::uint64_t tokens() const noexcept { return tokens_; }

private:
    struct ReferenceColumns {
        ReferenceColumns(Hdf5Output& file);
        void add(std::span<const std::string_view> alternatives);
        void close();

        Hdf5Column rows, offsets, text;
        std::uint64_t alternatives = 0, bytes = 0;
    };

    struct SpanColumns {
        SpanColumns(Hdf5Output& file);
        void add(std::span<const LabelSpan> spans);
        void close();

        Hdf5Column offsets, spans;
        std::uint64_t count = 0;
    };

    Hdf5Output file_;
    Hdf5Column token_column_, offset_column_, id_column_;
    std::optional<SpanColumns> spans_;
    std::optional<ReferenceColumns> references_;
    std::uint64_t rows_ = 0, tokens_ = 0;
};

}  // namespace lockstep::data
