// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/text/text_tokens.hpp"
#include "data/text/turns.hpp"
#include "data/tokenizers/chat_format.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// Says who ends a target: the writer with the first end token, or the target itself.
enum class TargetEnd { added, included };

// Gives a row as ranges of its chunk's ids. Contexts of one episode overlap, so the ids are stored
// once.
struct EncodedRow {
    std::size_t source_begin = 0, source_end = 0;
    // Tokens that the source begins and ends with, and that the target begins with.
    std::optional<std::int32_t> before_source = {}, after_source = {}, before_target = {};
    std::size_t target_begin = 0, target_end = 0;
    std::size_t references_begin = 0, references_end = 0;
    TargetEnd end = TargetEnd::added;
    // The answers of a conversation that is one row, counted from the first token of the source. If
    // there are none, all tokens of the target have labels.
    std::size_t spans_begin = 0, spans_end = 0;
};

// Holds an encoded chunk of dialogues.
struct EncodedChunk {
    std::vector<std::int32_t> ids;
    std::vector<EncodedRow> rows;
    std::vector<LabelSpan> spans;
    std::vector<std::string> references;
    TextTokens tokens;
    Warnings warnings;
    std::uint64_t file_bytes = 0;  // bytes of the file that were read for it
};

// Holds an encoded chunk of plain text. document_ends holds the index in ids after each document's
// last token.
struct EncodedText {
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> document_ends;
    TextTokens tokens;
    Warnings warnings;
    std::uint64_t file_bytes = 0;  // bytes of the file that were read for it
};

struct EncodeSettings {
    ReadOptions read;
    std::uint64_t seed = 1;
    enum class References { none, kept } references = References::none;
    TalkRows talk_rows = TalkRows::turns;
    const ChatFormat* chat = nullptr;  // how the tokenizer's model reads messages, if it says so
};

EncodedChunk encode_dialogues(const TextChunk& chunk, const Tokenizer& tokenizer,
                              const EncodeSettings& settings);

EncodedText encode_documents(const TextChunk& chunk, const Tokenizer& tokenizer,
                             const ReadOptions& options);

}  // namespace lockstep::data
