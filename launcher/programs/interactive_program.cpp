// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>
#include <optional>

#include "launcher/command_line/output_file.hpp"
#include "launcher/generate/chat_session.hpp"
#include "launcher/generate/conversation_log.hpp"
#include "launcher/generate/line_reader.hpp"
#include "launcher/generate/prompts.hpp"
#include "launcher/memory/weights_memory.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* greeting =
    "Type and press Enter; \\n is a line feed. [DONE] or /reset begins a new conversation, [EXIT] "
    "or "
    "Ctrl-D ends.\n";

bool contains(const std::string& line, const char* word) {
    return line.find(word) != std::string::npos;
}

class Talk {
public:
    Talk(ChatSession& talker, const TalkConfig& config, std::optional<ConversationLog>& log)
        : talker_(talker), config_(config), log_(log) {}

    void run(LineReader& lines) {
        for (std::string line; lines.next(line) && !contains(line, "[EXIT]");) {
            if (contains(line, "[DONE]") || line == "/reset") {
                begin();
                show("(a new conversation)");
            } else {
                answer(with_line_feeds(line));
            }
        }
    }

private:
    void begin() {
        turns_.clear();
        if (log_) log_->begin();
    }

    void answer(const std::string& line) {
        try {
            require_text(line, "your line");
        } catch (const Error& e) {
            return show(e.what());
        }
        turns_.push_back(line);
        const bool fitted = talker_.cut_contexts() == 0;
        turns_.push_back(reply());
        if (fitted && talker_.cut_contexts() > 0) std::cerr << talker_.why_cut() + "\n";
        if (!grows_) show("model: " + turns_.back());
        if (log_) log_->add({"localHuman", line}, {talker_.name(), turns_.back()});
        if (config_.single_turn) begin();
    }

    // Somebody who waits at a terminal sees the reply grow.
    std::string reply() {
        if (!grows_) return talker_.reply(turns_, replies_++);
        show_part("model: ");
        const std::string text = talker_.reply(
            turns_, replies_++, [](const std::string& part) { show_part(printable_lines(part)); });
        show_part("\n");
        return text;
    }

    static void show_part(const std::string& text) {
        std::cout << text;
        flush_output();
    }

    void show(const std::string& text) {
        std::cout << printable_lines(text) << '\n';
        flush_output();
    }

    ChatSession& talker_;
    const TalkConfig& config_;
    std::optional<ConversationLog>& log_;
    std::vector<std::string> turns_;  // the context, as in training
    std::uint32_t replies_ = 0;
    const bool grows_ = output_kind() == OutputKind::terminal;
};

}  // namespace

int interactive_program(const std::vector<std::string>& args) {
    const auto config =
        parse_run(Task::interactive,
                  "interactive -mf DIR [options]\n"
                  "Talk to a model. [DONE] or /reset begins a new conversation, [EXIT] "
                  "or Ctrl-D ends.\n",
                  args);
    if (!config) return 0;
    std::optional<ConversationLog> log;
    require_place("--outfile", config->talk.outfile);
    require_other_file("--outfile", config->talk.outfile, config->model_file);
    if (!config->talk.outfile.empty()) log.emplace(config->talk.outfile, config->talk.save_format);
    require_room_for_weights(*config);
    ChatSession talker(*config);
    if (isatty(STDIN_FILENO) == 1) std::cout << greeting << std::flush;
    Talk(talker, config->talk, log).run(*make_line_reader("you: "));
    if (isatty(STDIN_FILENO) == 1) std::cout << '\n';
    return 0;
}

}  // namespace lockstep::launcher
