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

// Appends conversations to a file, in ParlAI's conversations or text format. A conversation is in
// the file from its first exchange on and grows there, so none is lost when the program ends.
class ConversationLog {
public:
    // Throws when the file is not such a log, cannot be written, or is in use as another program's
    // log.
    ConversationLog(const std::string& path, LogFormat format);

    // Begins a conversation with the next exchange. The context precedes it.
    void begin(std::vector<Utterance> context = {});

    // Adds one speaker's text and the other's answer. Throws an io error when they cannot be
    // written.
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
    std::int64_t begin_ = 0, end_ = 0;  // offsets of the conversation in the file
    std::vector<Utterance> context_;
    std::vector<Exchange> exchanges_;
};

}  // namespace lockstep::launcher
