// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "data/storage/label_span.hpp"
#include "data/templates/template.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

class HuggingfaceTokenizer;

// Refuses a conversation whose turns were given so many bytes of text, by a data error.
void require_bounded(std::size_t text_bytes);

// A turn of the assistant as it arises when the model speaks: what it has read by then, and its
// words with the token that ends the turn.
struct SpokenTurn {
    std::vector<std::int32_t> context, label;
    std::size_t text_bytes = 0;  // that were written for it
};

// A conversation as one text, and what the assistant says in it.
struct SpokenTalk {
    std::vector<std::int32_t> ids;  // up to the end of the last turn
    std::vector<LabelSpan> turns;   // each with the token that ends it
};

// The way in which a model was taught to read conversations: its tokenizer's chat template. Words
// of a conversation never become control tokens. Several threads may call the const members at
// once. A conversation is an object with "messages" and, if there are any, "tools" and other
// variables of the template. Errors are data errors that name the template and its line.
class ChatFormat {
public:
    // Returns nothing if the tokenizer has no template. The tokenizer must outlive the object.
    static std::optional<ChatFormat> of(const Tokenizer& tokenizer,
                                        const std::optional<jinja::Date>& date = std::nullopt);

    // Returns the ids of the conversation up to where the assistant speaks.
    std::vector<std::int32_t> prompt(const nlohmann::ordered_json& talk) const;

    // Returns the turn of the message with this number, which is the assistant's. Throws if no
    // prompt leads to it, if no token ends it, or if the text begins with two begin tokens.
    SpokenTurn turn(const nlohmann::ordered_json& talk, std::size_t message) const;

    // Returns the conversation with the turns of these messages, in order, if each of them is in it
    // as turn() gives it: behind the same tokens. Nothing if the template writes an earlier turn
    // otherwise in the end, or if a token spans a border. Throws as turn() does.
    std::optional<SpokenTalk> conversation(const nlohmann::ordered_json& talk,
                                           std::span<const std::size_t> messages) const;

private:
    ChatFormat(const HuggingfaceTokenizer& tokenizer, Template chat_template,
               const std::optional<jinja::Date>& date);
    enum class Ask { yes, no };  // with the words that ask the assistant to speak
    RenderedText render(const nlohmann::ordered_json& talk, std::size_t messages, Ask ask) const;
    std::vector<std::int32_t> encode(const RenderedText& text, std::size_t begin,
                                     std::size_t end) const;
    std::size_t begin_of_turn(const RenderedText& prompt, const RenderedText& spoken) const;
    // Returns how many ids of a turn have labels: those up to its last end token.
    std::size_t labels_of(const std::vector<std::int32_t>& turn) const;
    void require_one_begin(const std::vector<std::int32_t>& ids) const;

    const HuggingfaceTokenizer* tokenizer_;
    Template template_;
    RenderOptions options_;
};

}  // namespace lockstep::data
