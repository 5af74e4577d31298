// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>

#include "launcher/options/run_command.hpp"
#include "launcher/programs.hpp"
#include "launcher/talker.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* greeting =
    "Type and press Enter; [DONE] forgets the conversation, [EXIT] or Ctrl-D ends it.\n";

// The conversation so far is the context, as in training.
void talk(Talker& talker, std::istream& in, std::ostream& out) {
    std::string history;
    std::uint32_t turn = 0;
    for (std::string line; out << "you: " << std::flush, std::getline(in, line);) {
        if (line == "[EXIT]") return;
        if (line == "[DONE]") {
            history.clear();
            continue;
        }
        history += (history.empty() ? "" : "\n") + line;
        std::string answer;
        try {
            answer = talker.reply({talker.tokens_of(history, "your line")}, {turn++}).front();
        } catch (const Error& e) {
            if (e.kind() != ErrorKind::data) throw;
            out << e.what() << '\n';
            history.clear();
            continue;
        }
        out << "model: " << answer << '\n';
        history += "\n" + answer;
    }
    out << '\n';
}

}  // namespace

int interactive_program(const std::vector<std::string>& args) {
    const auto config =
        parse_run(Task::generate, "interactive -mf DIR [options]\nTalk to a model.\n", args);
    if (!config) return 0;
    Talker talker(*config);
    if (isatty(STDIN_FILENO) == 1) std::cout << greeting;
    talk(talker, std::cin, std::cout);
    return 0;
}

}  // namespace lockstep::launcher
