// SPDX-License-Identifier: Apache-2.0
#include "data/text/turns.hpp"

#include "data/text/conversations.hpp"
#include "data/text/fbdialog.hpp"
#include "data/text/messages.hpp"
#include "data/text/parlai_text.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {

void Warnings::once(const std::string& kind, const SourceLine& source_line) {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(kind).second) return;
    log_.info("warning: " + *source_line.path + ":" + std::to_string(source_line.line) + ": " +
              kind);
}

void read_turns(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                TurnSink& sink) {
    check_encoding(chunk);
    switch (options.format) {
        case TextFormat::parlai:
            return read_parlai_text(chunk, warnings, sink);
        case TextFormat::fbdialog:
            return read_fbdialog(chunk, sink);
        case TextFormat::jsonl:
            return read_conversations(chunk, options.label_turns, warnings, sink);
        case TextFormat::messages:
            return read_messages(chunk, warnings, sink);
        case TextFormat::text:
            break;
    }
    throw Error(ErrorKind::contract, "plain text has no turns");
}

}  // namespace lockstep::data
