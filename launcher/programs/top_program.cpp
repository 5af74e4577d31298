// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "launcher/command_line/command_line.hpp"
#include "launcher/live/top_screen.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "lockstep top MODEL [--once]\n"
    "Shows a training run on the terminal while it goes on: its ranks, what each of them does, "
    "its\n"
    "speed, loss, memory and the time that is left. q or Ctrl-C ends it.\n";

struct TopOptions {
    std::vector<std::string> folders;
    bool once = false;
};

OptionTable top_table(TopOptions& options) {
    OptionTable table("Top");
    table.texts("model-file,mf", options.folders, "DIR",
                "the model folder of the run; it may also stand without this option");
    table.flag("once", options.once,
               "print one picture and end, as is done if standard output is no terminal");
    return table;
}

// Returns the options and then the folders behind their option, as these may stand anywhere.
std::vector<std::string> with_option(const std::vector<std::string>& words) {
    std::vector<std::string> options, folders;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool option = word.starts_with("-");
        (option ? options : folders).push_back(word);
        if (!option || i + 1 == words.size()) continue;
        if (word == "--config" || (word == "--once" && is_bool_word(words[i + 1])))
            options.push_back(words[++i]);
    }
    std::erase_if(options, [&](const std::string& word) {
        return !folders.empty() && (word == "-mf" || word == "--model-file");
    });
    if (!folders.empty()) options.emplace_back("--model-file");
    options.insert(options.end(), folders.begin(), folders.end());
    return options;
}

}  // namespace

int top_program(const std::vector<std::string>& args) {
    TopOptions options;
    if (!parse_or_answer(usage, with_option(args), {top_table(options)})) return 0;
    if (options.folders.size() != 1 || options.folders.front().empty())
        throw Error(ErrorKind::config,
                    "name one model folder of a training run; lockstep report "
                    "-mf A B --serve PORT shows several");
    const std::string& folder = options.folders.front();
    if (options.once || output_kind() == OutputKind::file)
        live::print_top(folder);
    else
        live::show_top(folder);
    return 0;
}

}  // namespace lockstep::launcher
