// SPDX-License-Identifier: Apache-2.0
#include "launcher/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep::launcher {

Screen output_screen() {
    // mpirun gives its ranks a terminal of its own and passes on what they write, wherever to.
    const bool relayed = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
    return !relayed && isatty(STDOUT_FILENO) == 1 ? Screen::terminal : Screen::file;
}

int output_columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace lockstep::launcher
