// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>
#include <optional>

#include "data/text/fields.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/generate/chat_session.hpp"
#include "launcher/generate/conversation_log.hpp"
#include "launcher/memory/weights_memory.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::launcher {

namespace {

// This is ParlAI's greeting: the first speaker answers it, the second one has an empty turn
// instead.
constexpr const char* hello = "Hi!";

std::vector<std::string> openers_of(const std::string& path) {
    std::vector<std::string> openers;
    if (path.empty()) return openers;
    std::ifstream file(path);
    if (!file) throw_errno("--seed-messages-from-file cannot be read", path);
    std::string line;
    for (std::uint64_t number = 1; read_line(file, line, path, number); ++number) {
        require_text(line, path + ":" + std::to_string(number));
        const std::string_view text = data::stripped(line);
        if (!text.empty()) openers.emplace_back(text);
    }
    if (file.bad()) throw_errno("--seed-messages-from-file cannot be read to its end", path);
    if (openers.empty())
        throw Error(ErrorKind::config,
                    "--seed-messages-from-file " + path + ": has no message; write one a line");
    return openers;
}

// Lets one model play both speakers. Each speaker's context holds what the other said and its own
// greeting.
class SelfChat {
public:
    SelfChat(ChatSession& talker, const RunConfig& config, std::vector<std::string> openers,
             std::optional<ConversationLog>& log)
        : talker_(talker),
          config_(config),
          openers_(std::move(openers)),
          log_(log),
          names_{talker.name() + "_1", talker.name() + "_2"} {}

    void run(std::uint32_t number) {
        heard_[0] = {hello};
        heard_[1] = {""};
        if (log_) log_->begin({{"context", hello}, {"context", ""}});
        show("== conversation " + std::to_string(number + 1));
        show(std::string("context: ") + hello);
        for (std::int64_t turn = 1; turn < config_.talk.max_turns; ++turn) {
            const bool opens = turn == 1 && !openers_.empty();
            const std::string said = say(0, opens ? opener(number) : reply(0));
            const std::string answered = say(1, reply(1));
            if (log_) log_->add({names_[0], said}, {names_[1], answered});
        }
    }

private:
    std::string reply(int speaker) { return talker_.reply(heard_[speaker], replies_++); }

    // Draws an opener from the seed and the conversation's number, and from nothing else.
    std::string opener(std::uint32_t number) const {
        const std::uint64_t word = philox({number, 0, 0, 0}, config_.train.seed)[0];
        return openers_[static_cast<std::size_t>((word * openers_.size()) >> 32)];
    }

    std::string say(int speaker, const std::string& text) {
        for (auto& heard : heard_) heard.push_back(text);
        show(names_[speaker] + ": " + text);
        return text;
    }

    void show(const std::string& line) {
        if (!config_.talk.display) return;
        std::cout << printable_lines(line) << '\n';
        flush_output();
    }

    ChatSession& talker_;
    const RunConfig& config_;
    const std::vector<std::string> openers_;
    std::optional<ConversationLog>& log_;
    const std::string names_[2];
    std::vector<std::string> heard_[2];
    std::uint32_t replies_ = 0;
};

}  // namespace

int self_chat_program(const std::vector<std::string>& args) {
    const auto config =
        parse_run(Task::self_chat, "self_chat -mf DIR [options]\nA model talks to itself.\n", args);
    if (!config) return 0;
    const TalkConfig& talk = config->talk;
    if (!talk.display && talk.outfile.empty())
        throw Error(ErrorKind::config,
                    "--display-examples false: nothing would be kept; name an --outfile");
    std::vector<std::string> openers = openers_of(talk.seed_messages);
    std::optional<ConversationLog> log;
    require_place("--outfile", talk.outfile);
    require_other_file("--outfile", talk.outfile, config->model_file);
    if (!talk.outfile.empty()) log.emplace(talk.outfile, talk.save_format);
    require_room_for_weights(*config);
    ChatSession talker(*config);
    SelfChat chat(talker, *config, std::move(openers), log);
    for (std::int64_t i = 0; i < talk.self_chats; ++i) chat.run(static_cast<std::uint32_t>(i));
    if (const std::string why = talker.why_cut(); !why.empty()) std::cerr << why + "\n";
    return 0;
}

}  // namespace lockstep::launcher
