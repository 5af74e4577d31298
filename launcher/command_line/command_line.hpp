// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/command_line/option_table.hpp"

namespace lockstep::launcher {

// Holds the parts of a command line besides the options' own values.
struct CommandLine {
    std::set<std::string> given;    // long names that the command line or the --config file set
    std::vector<std::string> rest;  // words after a lone --
    bool help = false;
    bool dump_config = false;
};

// Sets the tables' targets from `args` and from the file of --config. The command line takes
// precedence. Underscores count as dashes. An unknown option, a missing value or a wrong value is a
// config error that names the option and the nearest valid one.
CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<OptionTable>& tables);

// Does the same, and answers --help and --dump-config on standard output. The result is empty when
// it did so and the program is done.
std::optional<CommandLine> parse_or_answer(const std::string& usage,
                                           const std::vector<std::string>& args,
                                           const std::vector<OptionTable>& tables);

// Returns the tables as --help shows them.
std::string help_text(const std::string& usage, const std::vector<OptionTable>& tables);

// Returns the options that `args` give as lines of a --config file.
std::string dump_config(const std::vector<std::string>& args,
                        const std::vector<OptionTable>& tables);

// Returns the names and values of such lines and leaves out other lines.
std::vector<std::pair<std::string, std::string>> dumped_options(const std::string& lines);

}  // namespace lockstep::launcher
