// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"

// Words of train, and what it makes of them.
namespace lockstep::launcher::train_words {

using Words = std::vector<std::string>;

inline RunConfig train_config(Words more) {
    Words words{"--data", "d", "-mf", "m", "--num-epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return *parse_run(Task::train, "", words);
}

inline std::string refusal(const Words& more) {
    try {
        train_config(more);
    } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::config);
        return e.what();
    }
    return "accepted";
}

}  // namespace lockstep::launcher::train_words
