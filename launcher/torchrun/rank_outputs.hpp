// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"
#include "runtime/comm/net/socket.hpp"

namespace lockstep::launcher {

// Log files of one attempt, and the thread that copies what is to be both in a file and here, line
// by line with the rank before it. The thread blocks all signals and only reads and writes, so
// processes may be forked meanwhile. The end waits for what the ranks wrote before they ended.
class RankOutputs {
public:
    RankOutputs(const LaunchPlan& plan, int attempt);
    ~RankOutputs();
    RankOutputs(const RankOutputs&) = delete;
    RankOutputs& operator=(const RankOutputs&) = delete;

    // Sends the processes' streams (by local rank) where the plan says.
    void connect(std::vector<ProcessSpec>& processes) const;

private:
    // A stream that is copied: what comes out of `source` goes to `file` (when there is one) and
    // to `console`.
    struct Copy {
        FileDescriptor source;
        int file, console;
        std::string prefix, line;
    };

    int open_sink(Sink sink, int console, const std::string& prefix, const std::string& folder,
                  const char* name);
    FileDescriptor open_file(const std::string& folder, const char* name) const;
    void start();
    void copy_until_stopped();
    static bool copy_some(Copy& copy);
    static void show_lines(Copy& copy);

    std::vector<FileDescriptor> kept_;  // files, and the pipes' ends for the ranks
    std::deque<Copy> copies_;
    std::vector<StreamSinks> sinks_;
    std::vector<int> outputs_, errors_;  // by local rank; -1: inherited
    FileDescriptor stop_;
    std::thread thread_;
};

}  // namespace lockstep::launcher
