// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// stopped: the run may have continued from the checkpoint that it had just saved. open: the run
// continues, or it ended without a message.
enum class EndKind { failed, ended, stopped, open };

struct Ending {
    EndKind kind;
    std::string text;
};

// Returns the state of the run, derived from the files in its folder.
Ending ending(const Run& run);

}  // namespace lockstep::launcher::report
