// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher {

struct Utterance {
    std::string speaker, text;
};

// Conversations at the end of a file, in ParlAI's conversations or text format. A conversation is
// in the file as soon as it has an exchange, and grows there: what ends the program loses none.
class ConversationLog {
public:
    // Throws where the file is none, cannot be written to, or is another program's log just now.
    ConversationLog(const std::string& path, LogFormat format);

    // The next exchange begins a conversation, which the context precedes.
    void begin(std::vector<Utterance> context = {});

    // Adds what one said and the other answered. It throws an io error when that cannot be written.
    void add(Utterance said, Utterance answered);

private:
    void write(const std::string& text, std::int64_t at);
    std::string conversations_line() const;
    std::string parlai_lines() const;

    struct Exchange {
        Utterance said, answered;
    };

    const std::string path_;
    const LogFormat format_;
    FileDescriptor file_;
    std::int64_t begin_ = 0, end_ = 0;  // of the conversation in the file
    std::vector<Utterance> context_;
    std::vector<Exchange> exchanges_;
};

}  // namespace lockstep::launcher
