// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// stopped: or goes on from a checkpoint that it has just saved. open: goes on, or ended without a
// word.
enum class EndKind { failed, ended, stopped, open };

struct Ending {
    EndKind kind;
    std::string text;
};

// How the run stands, by what lies in its folder.
Ending ending(const Run& run);

}  // namespace lockstep::launcher::report
