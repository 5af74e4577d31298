// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/options/option_table.hpp"

namespace lockstep::launcher {

// What a command line asked for besides the options' own values.
struct CommandLine {
    std::set<std::string> given;    // long names set by the command line or the --config file
    std::vector<std::string> rest;  // words behind a lone --
    bool help = false;
    bool dump_config = false;
};

// Sets the tables' targets from `args` and from the file of --config (the command line wins).
// Underscores count as dashes. An unknown option, a missing or a wrong value is a config error that
// names the option and the nearest valid one.
CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<OptionTable>& tables);

// The same, and answers --help and --dump-config on standard output: empty where it did, and the
// program is done.
std::optional<CommandLine> parse_or_answer(const std::string& usage,
                                           const std::vector<std::string>& args,
                                           const std::vector<OptionTable>& tables);

// The tables as --help shows them.
std::string help_text(const std::string& usage, const std::vector<OptionTable>& tables);

// `given` options as lines of a --config file.
std::string dump_config(const std::vector<std::string>& args,
                        const std::vector<OptionTable>& tables);

// The names and values of such lines; others are left out.
std::vector<std::pair<std::string, std::string>> dumped_options(const std::string& lines);

}  // namespace lockstep::launcher
