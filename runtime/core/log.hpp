// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep {

enum class Verbosity { quiet, normal, verbose };
enum class OutputKind { file, terminal };  // what the lines are written to

// Writes lines for the user. Safe from several threads. Only rank 0 writes, unless `verbosity` is
// verbose; error() always writes.
class Log {
public:
    // `out` must outlive the log. `prefix` (such as "rank 3 on node2") precedes the lines of every
    // rank except rank 0.
    Log(std::ostream& out, Verbosity verbosity, int rank, std::string prefix,
        OutputKind screen = OutputKind::file);

    void info(std::string_view line);
    void detail(std::string_view line);
    void error(std::string_view line);
    bool speaks() const noexcept;

    // Shows text that the next call overwrites, such as a progress bar. `line` has no line end.
    // Shown on terminals only.
    void progress(std::string_view line);

private:
    void write(std::string_view line);

    std::ostream& out_;
    Verbosity verbosity_;
    int rank_;
    std::string prefix_;
    OutputKind screen_;
    std::mutex mutex_;
    std::size_t shown_ = 0;
};

}  // namespace lockstep
