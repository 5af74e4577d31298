// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep {

enum class Verbosity { quiet, normal, verbose };
enum class OutputKind { file, terminal };  // what the lines are written to

// Lines for the user, safe from several threads. Only rank 0 speaks, unless verbose; error()
// always.
class Log {
public:
    // `out` outlives the log. `prefix` (say "rank 3 on node2") precedes a line of any rank but 0.
    Log(std::ostream& out, Verbosity verbosity, int rank, std::string prefix,
        OutputKind screen = OutputKind::file);

    void info(std::string_view line);
    void detail(std::string_view line);
    void error(std::string_view line);
    bool speaks() const noexcept;

    // Text without a line end, rewritten in place: a progress bar. Shown on terminals only.
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
