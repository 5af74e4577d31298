// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>

namespace lockstep {

// Returns a name for people: "Ctrl-C" for INT, "SIGTERM" and the like for other signals that ask a
// program to end, else "signal 35".
inline std::string signal_name(int signal) {
    switch (signal) {
        case SIGINT:
            return "Ctrl-C";
        case SIGTERM:
            return "SIGTERM";
        case SIGHUP:
            return "SIGHUP";
        case SIGQUIT:
            return "SIGQUIT";
        case SIGUSR1:
            return "SIGUSR1";
        case SIGUSR2:
            return "SIGUSR2";
        case SIGXCPU:
            return "SIGXCPU";
        default:
            return "signal " + std::to_string(signal);
    }
}

}  // namespace lockstep
