// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/bpe_model.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "data/bpe/byte_alphabet.hpp"
#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

// Below this number of symbols a piece is merged as it is.
constexpr std::size_t cut_from = 24;

std::uint64_t border(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
}

std::string fallback_piece(unsigned byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

std::vector<Merge> merges_by_id(const Vocabulary& vocabulary,
                                const std::vector<MergePieces>& merges, const BpeOptions& options,
                                const std::string& origin) {
    const std::string& prefix = options.continuing_prefix;
    std::vector<Merge> by_id;
    by_id.reserve(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string& left = merges[rank].first;
        const std::string& right = merges[rank].second;
        const auto id = [&](const std::string& piece) {
            const std::int32_t found = vocabulary.find(piece);
            if (found != no_id) return found;
            throw Error(ErrorKind::data, origin + ": merge " + std::to_string(rank + 1) + ", '" +
                                             shown(left) + "' and '" + shown(right) +
                                             "', needs the piece '" + shown(piece) +
                                             "', which the vocabulary does not have");
        };
        const std::string rest = right.size() < prefix.size() ? "" : right.substr(prefix.size());
        by_id.push_back({id(left), id(right), id(left + rest),
                         options.merge_ranks.empty() ? static_cast<std::uint32_t>(rank)
                                                     : options.merge_ranks[rank]});
    }
    return by_id;
}

bool is_one_character(std::string_view piece) noexcept {
    return !piece.empty() && unicode::decode(piece).bytes == piece.size();
}

}  // namespace

BpeModel::BpeModel(const Vocabulary& vocabulary, const std::vector<MergePieces>& merges,
                   BpeOptions options, const std::string& origin)
    : vocabulary_(vocabulary), options_(std::move(options)) {
    const auto by_id = merges_by_id(vocabulary, merges, options_, origin);
    merges_ = MergeTable(by_id);
    if (!options_.unknown_token.empty()) {
        unknown_ = vocabulary.find(options_.unknown_token);
        if (unknown_ == no_id)
            throw Error(ErrorKind::data, origin + ": \"unk_token\" is '" +
                                             shown(options_.unknown_token) +
                                             "', which the vocabulary does not have");
    }
    std::sort(options_.never_pieces.begin(), options_.never_pieces.end());
    read_bytes();
    read_fallback();
    read_whole_pieces();
    read_borders(by_id);
}

void BpeModel::read_bytes() {
    for (unsigned byte = 0; byte < 256; ++byte)
        byte_ids_[byte] = vocabulary_.find(character_of_byte(static_cast<std::uint8_t>(byte)));
    has_all_bytes_ = options_.symbols == SymbolKind::bytes && options_.continuing_prefix.empty() &&
                     options_.end_suffix.empty() &&
                     std::find(byte_ids_.begin(), byte_ids_.end(), no_id) == byte_ids_.end();
}

void BpeModel::read_fallback() {
    for (unsigned byte = 0; byte < 256; ++byte)
        fallback_[byte] = options_.byte_fallback ? vocabulary_.find(fallback_piece(byte)) : no_id;
}

void BpeModel::read_whole_pieces() {
    if (!options_.ignore_merges) return;
    for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
        const auto piece = vocabulary_.piece(id);
        const auto& never = options_.never_pieces;
        if (!piece || std::binary_search(never.begin(), never.end(), id)) continue;
        if (options_.symbols == SymbolKind::characters) {
            whole_.try_emplace(std::string(*piece), id);
        } else if (auto bytes = bytes_of_characters(*piece)) {
            whole_.try_emplace(std::move(*bytes), id);
        }
    }
}

// A merged symbol begins with the first symbol of its left part and ends with the last of its right
// part. So merges reach across the border of two symbols only if one of them joins a part that ends
// with the left one and a part that begins with the right one.
void BpeModel::read_borders(const std::vector<Merge>& merges) {
    if (!options_.continuing_prefix.empty() || !options_.end_suffix.empty()) return;
    std::vector<std::int32_t> first(static_cast<std::size_t>(vocabulary_.size()));
    for (std::size_t id = 0; id < first.size(); ++id) first[id] = static_cast<std::int32_t>(id);
    std::vector<std::int32_t> last = first;
    std::vector<const Merge*> shortest_first;
    const auto length = [&](std::int32_t id) { return vocabulary_.piece(id)->size(); };
    for (const Merge& merge : merges) {
        if (length(merge.left) == 0 || length(merge.right) == 0) continue;  // there is none such
        const bool is_symbol =
            is_one_character(*vocabulary_.piece(merge.merged)) || merge.merged == unknown_ ||
            std::find(fallback_.begin(), fallback_.end(), merge.merged) != fallback_.end();
        if (is_symbol) return;  // It may begin with itself, too.
        shortest_first.push_back(&merge);
    }
    std::sort(shortest_first.begin(), shortest_first.end(), [&](const Merge* a, const Merge* b) {
        return length(a->merged) < length(b->merged);
    });
    const auto at = [](std::int32_t id) { return static_cast<std::size_t>(id); };
    borders_.emplace();
    for (const Merge* merge : shortest_first) {
        first[at(merge->merged)] = first[at(merge->left)];
        last[at(merge->merged)] = last[at(merge->right)];
        borders_->insert(border(last[at(merge->left)], first[at(merge->right)]));
    }
}

void BpeModel::encode(std::string_view piece, BpeWorkspace& workspace,
                      std::vector<std::int32_t>& out) const {
    if (piece.empty() || workspace.cache.find(piece, out)) return;
    const std::size_t begin = out.size();
    encode_new(piece, workspace, out);
    workspace.cache.insert(piece, std::span(out).subspan(begin));
}

void BpeModel::encode_new(std::string_view piece, BpeWorkspace& workspace,
                          std::vector<std::int32_t>& out) const {
    if (const auto whole = whole_.find(piece); whole != whole_.end()) {
        out.push_back(whole->second);
        return;
    }
    workspace.symbols.clear();
    if (has_all_bytes_) {
        for (const char byte : piece)
            workspace.symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    } else if (options_.symbols == SymbolKind::bytes) {
        workspace.text.clear();
        append_byte_characters(piece, workspace.text);
        append_symbols(workspace.text, workspace.symbols);
    } else {
        append_symbols(piece, workspace.symbols);
    }
    merge_parts(workspace, out);
}

bool BpeModel::append_fallback(std::string_view character,
                               std::vector<std::int32_t>& symbols) const {
    if (!options_.byte_fallback) return false;
    const auto id = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)]; };
    if (std::any_of(character.begin(), character.end(),
                    [&](char byte) { return id(byte) == no_id; }))
        return false;
    for (const char byte : character) symbols.push_back(id(byte));
    return true;
}

// An unknown token is appended when the next known character comes, as `tokenizers` does it: it
// then stands behind the bytes of characters that fall back on them.
void BpeModel::append_symbols(std::string_view piece, std::vector<std::int32_t>& symbols) const {
    bool pending = false;
    std::string with_marks;
    const bool has_marks = !options_.continuing_prefix.empty() || !options_.end_suffix.empty();
    for (std::size_t at = 0, next = 0; at < piece.size(); at = next) {
        next = at + std::max<std::size_t>(1, unicode::decode(piece.substr(at)).bytes);
        std::string_view character = piece.substr(at, next - at);
        if (has_marks) {
            with_marks = at == 0 ? "" : options_.continuing_prefix;
            with_marks += character;
            if (next == piece.size()) with_marks += options_.end_suffix;
            character = with_marks;
        }
        if (const std::int32_t id = vocabulary_.find(character); id != no_id) {
            if (pending) symbols.push_back(unknown_);
            pending = false;
            symbols.push_back(id);
        } else if (!append_fallback(character, symbols) && unknown_ != no_id) {
            if (pending && !options_.fuse_unknown) symbols.push_back(unknown_);
            pending = true;
        }
    }
    if (pending) symbols.push_back(unknown_);
}

void BpeModel::merge_parts(BpeWorkspace& workspace, std::vector<std::int32_t>& out) const {
    const std::span<const std::int32_t> symbols = workspace.symbols;
    if (!borders_ || symbols.size() < cut_from)
        return workspace.merger.merge(symbols, merges_, out);
    std::size_t begin = 0;
    for (std::size_t at = 1; at <= symbols.size(); ++at) {
        if (at < symbols.size() && borders_->contains(border(symbols[at - 1], symbols[at])))
            continue;
        workspace.merger.merge(symbols.subspan(begin, at - begin), merges_, out);
        begin = at;
    }
}

}  // namespace lockstep::data
