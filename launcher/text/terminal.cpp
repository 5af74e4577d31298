// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <system_error>

#include "launcher/text/line_time.hpp"
#include "launcher/text/unwritten_answer.hpp"

namespace lockstep::launcher {

OutputKind output_kind() {
    // mpirun gives its ranks a terminal of its own and forwards their output, which may go to a
    // file.
    const bool relayed = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
    return !relayed && isatty(STDOUT_FILENO) == 1 ? OutputKind::terminal : OutputKind::file;
}

int output_columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void print_at_once(const std::string& line) {
    constexpr int patience_ms = 500;  // a terminal that shows other lines is busy for a moment
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, patience_ms) != 1) return;
    const std::string time = has_times(TimedStream::error) ? line_time() : "";
    const std::string whole = (isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "") + time + line + "\n";
    (void)!::write(STDERR_FILENO, whole.data(), whole.size());
}

void flush_output() {
    errno = 0;
    if (std::cout.flush()) return;
    throw UnwrittenAnswer("standard output cannot be written" +
                              (errno == 0 ? "" : ": " + std::generic_category().message(errno)),
                          errno);
}

}  // namespace lockstep::launcher
