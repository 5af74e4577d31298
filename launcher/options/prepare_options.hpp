// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/prepare/prepare.hpp"
#include "launcher/command_line/option_table.hpp"

namespace lockstep::launcher {

// Presents data::PrepareOptions to the command line.
struct PrepareConfig {
    data::PrepareOptions options;
    std::string like;
    std::string told;  // what was changed to fit the model; empty: nothing
    bool dict_lower = false;
    bool overwrite = false;
    bool verbose = false;
};

// Adds --delimiter, and returns it. The two characters \n in its value mean a line feed.
Option& add_delimiter(OptionTable& table, std::string& target);

OptionTable prepare_table(PrepareConfig& config);
OptionTable tokenizer_table(PrepareConfig& config);

}  // namespace lockstep::launcher
