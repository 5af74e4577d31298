// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::data {

// json_texts: {"text": ...}, a document in each line or element of an array.
enum class TextFormat { parlai, fbdialog, jsonl, messages, text, json_texts };
// Tells whether a format has documents for a language model, and no dialogues.
constexpr bool holds_documents(TextFormat format) noexcept {
    return format == TextFormat::text || format == TextFormat::json_texts;
}
// The turns of this speaker of a conversation become labels.
enum class LabelTurns { firstspeaker, secondspeaker, both };
// The texts of conversations. parlais: without white space at their ends, and what nobody said
// before the first answer is __SILENCE__, as in ParlAI. as_written: with it, and what nobody said
// is empty.
enum class Texts { parlais, as_written };
enum class Documents { file, blank_line };  // end of a plain-text document

// What a chat template makes a row of: each turn of the assistant, or a conversation as far as the
// template keeps its earlier turns as they were.
enum class TalkRows { turns, conversations };

struct ReadOptions {
    TextFormat format = TextFormat::parlai;
    LabelTurns label_turns = LabelTurns::secondspeaker;  // jsonl only
    Texts texts = Texts::parlais;                        // jsonl and messages only
    std::int64_t history_size = -1;                      // utterances of context; negative: all
    std::string delimiter = "\n";                        // between the utterances of a context
    Documents documents = Documents::file;               // text only
};

}  // namespace lockstep::data
