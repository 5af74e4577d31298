// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/generate/reply_generator.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/loaded_model.hpp"

namespace lockstep::launcher {

// Throws a data error that begins with `where` when the text is not UTF-8.
void require_utf8(const std::string& text, const std::string& where);

// A model that answers texts, on this machine alone.
class ChatSession {
public:
    // Loads config.model_file.
    explicit ChatSession(const RunConfig& config);

    // The context of these turns as `prepare` makes it of a dialogue's: the last --history-size of
    // them, joined by --delimiter. Without any token it is __null__, as in training, unless the
    // model is a gpt2 of plain text.
    std::vector<std::int32_t> context_of(const std::vector<std::string>& turns) const;

    // The replies to each context, the best first; rows seed what is drawn. Of a context that is
    // too long the end counts.
    std::vector<std::vector<Reply>> ranked(const std::vector<std::vector<std::int32_t>>& contexts,
                                           const std::vector<std::uint32_t>& rows);

    // The best reply.
    std::string reply(const std::vector<std::string>& turns, std::uint32_t row);

    // ParlAI's name of such an agent, in logs of conversations.
    std::string name() const;

private:
    const TalkConfig settings_;
    const bool null_if_empty_;
    const std::int64_t longest_;  // context that the model sees; <= 0: no bound but its positions
    LoadedModel loaded_;
    ReplyGenerator replier_;
};

}  // namespace lockstep::launcher
