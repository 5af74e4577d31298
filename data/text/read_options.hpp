// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::data {

enum class TextFormat { parlai, fbdialog, jsonl, messages, text };
// The turns of this speaker of a conversation become labels.
enum class LabelTurns { firstspeaker, secondspeaker, both };
// The texts of conversations. parlais: without white space at their ends, and what nobody said
// before the first answer is __SILENCE__, as in ParlAI. as_written: with it, and what nobody said
// is empty.
enum class Texts { parlais, as_written };
enum class Documents { file, blank_line };  // end of a plain-text document

struct ReadOptions {
    TextFormat format = TextFormat::parlai;
    LabelTurns label_turns = LabelTurns::secondspeaker;  // jsonl only
    Texts texts = Texts::parlais;                        // jsonl and messages only
    std::int64_t history_size = -1;                      // utterances of context; negative: all
    std::string delimiter = "\n";                        // between the utterances of a context
    Documents documents = Documents::file;               // text only
};

}  // namespace lockstep::data
