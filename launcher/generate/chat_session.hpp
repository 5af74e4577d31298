// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizers/chat_format.hpp"
#include "launcher/generate/prompts.hpp"
#include "launcher/generate/reply_bytes.hpp"
#include "launcher/generate/reply_generator.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/cores_notice.hpp"
#include "launcher/rank/loaded_model.hpp"

namespace lockstep::launcher {

// Throws a data error that begins with `where` when the text is not UTF-8 or has a NUL.
void require_text(const std::string& text, const std::string& where);

// Owns a model that replies to texts on this host.
class ChatSession {
public:
    // Loads config.model_file. Warnings go to standard error.
    explicit ChatSession(const RunConfig& config);

    // Returns the context of these turns as `prepare` makes it of a dialogue: the last
    // --history-size turns, joined by --delimiter. A context without tokens becomes __null__, as in
    // training, unless the model is a gpt2 of plain text.
    std::vector<std::int32_t> context_of(const std::vector<std::string>& turns) const;

    // Returns the context of a conversation that the model's chat template writes. `talk` is the
    // JSON of an object with "messages". Throws a data error that begins with `where` if the model
    // has no template, or if the template refuses the conversation.
    std::vector<std::int32_t> context_of_talk(const std::string& talk,
                                              const std::string& where) const;

    // Returns the context of a prompt. A model that learnt dialogues without a template reads the
    // texts of a conversation as `prepare` joins them, and any model one text without an answer.
    std::vector<std::int32_t> context_of_prompt(const Prompt& prompt) const;

    // Returns the replies to each context; the best come first. `rows` seed the sampling. Only the
    // end of a context that is too long is used.
    std::vector<std::vector<Reply>> ranked(const std::vector<std::vector<std::int32_t>>& contexts,
                                           const std::vector<std::uint32_t>& rows);

    // Returns what these take of a CPU's memory when they are answered together. On a GPU: nothing.
    PromptBytes bytes_of(const std::vector<std::vector<std::int32_t>>& contexts) const;

    // Returns the best reply. With a chat template, the turns are those of the user and the
    // assistant in turn, the last one is the user's, and --system is before them.
    std::string reply(const std::vector<std::string>& turns, std::uint32_t row);
    // Does the same, and calls `show` with the parts of the reply as they become certain, or with
    // all of it at once if hypotheses compete.
    std::string reply(const std::vector<std::string>& turns, std::uint32_t row,
                      const std::function<void(const std::string&)>& show);

    // Returns of how many contexts only the end fitted the model's positions.
    std::uint64_t cut_contexts() const noexcept { return cut_contexts_; }
    // Says so in one line; empty: of none.
    std::string why_cut() const;

    bool has_chat_template() const noexcept { return chat_.has_value(); }

    // Returns ParlAI's name of such an agent, for logs of conversations.
    std::string name() const;

private:
    bool is_cut(std::int64_t context) const;
    std::vector<std::int32_t> context_of_chat(const std::vector<std::string>& turns) const;
    std::vector<std::int32_t> seen_of(std::vector<std::int32_t> context);
    std::string talk_of(const std::vector<std::string>& turns) const;

    const TalkConfig settings_;
    const bool learnt_dialogues_;
    const std::int64_t longest_;  // maximum tokens of context; <= 0: the model's positions
    const model::GenerationOptions generation_;
    std::uint64_t cut_contexts_ = 0;
    const ComputeDevice device_;
    LoadedModel loaded_;
    const std::optional<data::ChatFormat> chat_;
    ReplyGenerator replier_;
    TakenCoresNotice taken_cores_;
};

}  // namespace lockstep::launcher
