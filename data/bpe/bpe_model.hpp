// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/bpe/merge_table.hpp"
#include "data/bpe/piece_cache.hpp"
#include "data/bpe/symbol_merging.hpp"
#include "data/bpe/vocabulary.hpp"

namespace lockstep::data {

// bytes: the model gets bytes, and its vocabulary is written in GPT-2's alphabet. characters: the
// model gets text in the characters of its vocabulary.
enum class SymbolKind { bytes, characters };

struct BpeOptions {
    SymbolKind symbols = SymbolKind::characters;
    std::string unknown_token;               // empty: unknown characters are left out
    std::string continuing_prefix;           // before each character but a piece's first
    std::string end_suffix;                  // behind a piece's last character
    bool fuse_unknown = false;               // several unknown characters are one token
    bool byte_fallback = false;              // the bytes of an unknown character are <0xNN>
    bool ignore_merges = false;              // a piece in the vocabulary is one token
    std::vector<std::int32_t> never_pieces;  // ids that ignore_merges must not find
    std::vector<std::uint32_t> merge_ranks;  // of the merges; empty: they are in their order
};

using MergePieces = std::pair<std::string, std::string>;

// What one thread needs to encode pieces.
struct BpeWorkspace {
    PieceCache cache;
    SymbolMerger merger;
    std::vector<std::int32_t> symbols;
    std::string text;
};

// The model BPE of a tokenizer.json. Several threads may encode, each with a workspace of its own,
// which serves one model only.
class BpeModel {
public:
    // Throws a data error that begins with `origin` if a merge or the unknown token is not in the
    // vocabulary. The vocabulary must outlive the model.
    BpeModel(const Vocabulary& vocabulary, const std::vector<MergePieces>& merges,
             BpeOptions options, const std::string& origin);

    // Appends the ids of a piece of text.
    void encode(std::string_view piece, BpeWorkspace& workspace,
                std::vector<std::int32_t>& out) const;

private:
    void read_bytes();
    void read_fallback();
    void read_whole_pieces();
    void read_borders(const std::vector<Merge>& merges);
    void encode_new(std::string_view piece, BpeWorkspace& workspace,
                    std::vector<std::int32_t>& out) const;
    void append_symbols(std::string_view piece, std::vector<std::int32_t>& symbols) const;
    bool append_fallback(std::string_view character, std::vector<std::int32_t>& symbols) const;
    void merge_parts(BpeWorkspace& workspace, std::vector<std::int32_t>& out) const;

    const Vocabulary& vocabulary_;
    BpeOptions options_;
    MergeTable merges_;
    std::int32_t unknown_ = no_id;
    bool has_all_bytes_ = false;
    std::array<std::int32_t, 256> byte_ids_{};  // of the characters that stand for bytes
    std::array<std::int32_t, 256> fallback_{};  // of <0xNN>
    IdOfText whole_;                            // for ignore_merges; bytes for SymbolKind::bytes
    // Pairs of symbols between which a merge may reach. Between all others a piece can be cut.
    std::optional<std::unordered_set<std::uint64_t>> borders_;
};

}  // namespace lockstep::data
