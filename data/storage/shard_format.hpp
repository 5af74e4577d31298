// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Defines the names in a prepared data directory; docs/data-format.md explains them.
namespace lockstep::data {

inline constexpr int format_version = 1;
// The version of data sets and shards whose rows have spans with labels.
inline constexpr int spans_version = 2;

// Each row has a source and a target. dialogue: they are the context and its label. language_model:
// the source is empty and the target is one block of a document.
enum class DatasetKind { dialogue, language_model };
std::string_view name(DatasetKind kind) noexcept;
// Returns nothing for an unknown name.
std::optional<DatasetKind> dataset_kind(std::string_view name);

// Rows are dealt to a split's shards in turn, by blocks of this many rows.
inline constexpr std::uint64_t rows_per_block = 64;

// Returns the id, within the split, of a shard's row number `local`.
constexpr std::uint64_t global_row(std::uint64_t local, std::uint64_t shard,
                                   std::uint64_t shards) noexcept {
    return (local / rows_per_block * shards + shard) * rows_per_block + local % rows_per_block;
}

namespace format {

// These are the names of the files in the directory, and of the splits.
inline constexpr const char* dataset_file = "dataset.json";
inline constexpr const char* index_file = "index.h5";
inline constexpr const char* tokenizer_file = "tokenizer.json";
inline constexpr const char* dictionary_file = "dictionary.txt";
inline constexpr const char* sentencepiece_file = "sentencepiece.model";
inline constexpr const char* train_split = "train";
inline constexpr const char* valid_split = "valid";
inline constexpr const char* test_split = "test";

// A shard has these datasets. Row r's source is tokens[offsets[2r], offsets[2r+1]), its target
// tokens[offsets[2r+1], offsets[2r+2]). Targets end with __end__ (in a language model: the last
// block of a document does) and never begin with __start__.
inline constexpr const char* tokens = "tokens";    // int32 [tokens]
inline constexpr const char* offsets = "offsets";  // uint64 [2 rows + 1]
inline constexpr const char* row_ids = "row_ids";  // uint32 [rows], unique within the split

// Shards of version 2 also have these datasets. Row r has the spans span_offsets[r] ..
// span_offsets[r+1]; a span is the first and, exclusively, the last token with a label, counted
// from the row's first token. The first span of a row begins with its target, and the last one ends
// with it.
inline constexpr const char* spans = "spans";                // int32 [spans, 2]
inline constexpr const char* span_offsets = "span_offsets";  // uint64 [rows + 1]

// Evaluation shards of a dialogue also have these datasets, which store every alternative label as
// written. Row r has the alternatives reference_rows[r] .. reference_rows[r+1]. Alternative a has
// the bytes reference_text[reference_offsets[a], reference_offsets[a+1]), in UTF-8.
inline constexpr const char* reference_rows = "reference_rows";        // uint64 [rows + 1]
inline constexpr const char* reference_offsets = "reference_offsets";  // uint64 [alternatives + 1]
inline constexpr const char* reference_text = "reference_text";        // uint8 [bytes]

// The root group of a shard has these attributes.
inline constexpr const char* version = "format_version";           // int64
inline constexpr const char* dictionary_hash = "dictionary_hash";  // string, 16 hex digits
inline constexpr const char* rows = "rows";                        // int64
inline constexpr const char* token_count = "token_count";          // int64
inline constexpr const char* kind = "kind";                        // string
inline constexpr const char* split = "split";                      // string
inline constexpr const char* shard = "shard";                      // int64
inline constexpr const char* shards = "shards";                    // int64
inline constexpr const char* tokenizer = "tokenizer";              // string

}  // namespace format

// What a message about a damaged file of a data set tells people to do.
inline constexpr const char* restore_remedy = "; restore the file, or run 'lockstep prepare' again";

// Returns a file name such as "train-00000-of-00002.h5".
std::string shard_file(std::string_view split, int shard, int shards);
// Returns the name of a shard's dataset in the index, such as "/train/00000": int32 [rows, 2] with
// the source and target length of each row, or [rows, 3] with the number of labels, too, for shards
// of version 2. The index has the attributes format_version and
// dictionary_hash, as a shard does.
std::string index_dataset(std::string_view split, int shard);

}  // namespace lockstep::data
