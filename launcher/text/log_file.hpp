// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lockstep::launcher {

// Writes the lines of standard output and standard error to a file as well while it lives, with the
// time before each. They are added to what the file holds. A file that cannot be written while the
// run goes on is told of once.
class LogFile {
public:
    // Rank 0 writes `path` and opens it at once; rank r > 0 writes path.rankR and makes it with its
    // first line. An empty path: nothing is written. Throws a config error for something else than
    // a file of such lines, and SystemFailure.
    LogFile(const std::string& path, int rank);
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;
    ~LogFile();

    // Returns what `run` returns. What it throws is noted in the file, too, as `program` tells it
    // later.
    int keep(const std::string& program, const std::function<int()>& run);

private:
    class File;
    class Copies;

    std::unique_ptr<File> file_;
    std::unique_ptr<Copies> copies_;
};

}  // namespace lockstep::launcher
