// SPDX-License-Identifier: Apache-2.0
#include "data/text/turns.hpp"

#include "data/text/checked_turns.hpp"
#include "data/text/conversations.hpp"
#include "data/text/fbdialog.hpp"
#include "data/text/messages.hpp"
#include "data/text/parlai_text.hpp"
#include "data/text/plain_lines.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

void read_lines(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                CheckedTurns& turns) {
    switch (options.format) {
        case TextFormat::parlai:
            return read_parlai_text(chunk, warnings, turns);
        case TextFormat::fbdialog:
            return read_fbdialog(chunk, warnings, turns);
        case TextFormat::jsonl:
            return read_conversations(chunk, options, warnings, turns);
        case TextFormat::messages:
            return read_messages(chunk, options.texts, warnings, turns);
        case TextFormat::text:
        case TextFormat::json_texts:
            break;
    }
    throw Error(ErrorKind::contract, "plain text has no turns");
}

}  // namespace

void read_turns(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                TurnSink& sink) {
    const std::optional<TextChunk> mended = with_plain_lines(chunk, warnings);
    CheckedTurns turns(sink, warnings);
    read_lines(mended ? *mended : chunk, options, warnings, turns);
    turns.end();
}

}  // namespace lockstep::data
