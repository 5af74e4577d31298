// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"
#include "runtime/comm/net/socket.hpp"

namespace lockstep::launcher {

// Owns the log files of one attempt, and a thread that copies streams with Sink::both. It copies
// their bytes to the file, and whole lines with a prefix that names the rank to the launcher's own
// stream. The thread blocks all signals and only reads and writes, so forking processes meanwhile
// is safe. The destructor waits until everything is copied that the ranks wrote before they ended.
class RankOutputs {
public:
    RankOutputs(const LaunchPlan& plan, int attempt);
    ~RankOutputs();
    RankOutputs(const RankOutputs&) = delete;
    RankOutputs& operator=(const RankOutputs&) = delete;

    // Connects the processes' streams, indexed by local rank, as the plan says.
    void connect(std::vector<ProcessSpec>& processes) const;

private:
    // Describes a stream that is copied from `source` to `file` (if there is one) and to `console`.
    struct Copy {
        FileDescriptor source;
        int file, console;
        std::string prefix, line;
        std::string path;  // of `file`
        bool told_of_failure = false;
    };

    int open_sink(Sink sink, int console, const std::string& prefix, const std::string& folder,
                  const char* name);
    FileDescriptor open_file(const std::string& folder, const char* name);
    void start();
    void copy_until_stopped();
    static bool copy_some(Copy& copy);
    static void keep(Copy& copy, std::string_view bytes);
    static void show_lines(Copy& copy);

    // Files, their locks, and the ends of the pipes that the ranks write.
    std::vector<FileDescriptor> kept_;
    std::deque<Copy> copies_;
    std::vector<StreamSinks> sinks_;
    std::vector<int> outputs_, errors_;  // index: local rank; -1: inherited
    FileDescriptor stop_;
    std::thread thread_;
};

}  // namespace lockstep::launcher
