// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/log.hpp"

#include <ostream>
#include <utility>

#include "runtime/core/printable.hpp"

namespace lockstep {

Log::Log(std::ostream& out, Verbosity verbosity, int rank, std::string prefix, OutputKind screen)
    : out_(out), verbosity_(verbosity), rank_(rank), prefix_(std::move(prefix)), screen_(screen) {}

bool Log::speaks() const noexcept {
    return verbosity_ == Verbosity::verbose || (rank_ == 0 && verbosity_ == Verbosity::normal);
}

void Log::info(std::string_view line) {
    if (speaks()) write(line);
}

void Log::detail(std::string_view line) {
    if (verbosity_ == Verbosity::verbose) write(line);
}

void Log::error(std::string_view line) { write(line); }

void Log::progress(std::string_view line) {
    if (screen_ == OutputKind::file || rank_ != 0 || verbosity_ == Verbosity::quiet) return;
    const std::lock_guard lock(mutex_);
    out_ << '\r' << line;
    if (shown_ > line.size()) out_ << std::string(shown_ - line.size(), ' ');
    out_ << std::flush;
    shown_ = line.size();
}

void Log::write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    // Clears the whole line: the terminal may have printed ^C on it.
    if (screen_ == OutputKind::terminal) out_ << "\r\x1b[K";
    shown_ = 0;
    std::string whole;  // a single write, so that lines of several processes do not mix
    if (rank_ != 0) whole.append(prefix_).append(": ");
    whole.append(printable_lines(line)).append("\n");
    out_ << whole << std::flush;
}

}  // namespace lockstep
