// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace lockstep {

// Tells whether this process ignores the signal. nohup starts a program with HUP ignored. The
// kernel does not discard an ignored signal while it is blocked, so a signalfd would still report
// it.
inline bool is_ignored(int signal) noexcept {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace lockstep
