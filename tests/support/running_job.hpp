// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// Runs a training job during the test, which disturbs it from outside. The destructor ends all its
// processes.
class RunningJob {
public:
    // `line` is split at blanks. It must train into the folder `model`.
    RunningJob(const std::string& line, const std::string& model,
               const std::map<std::string, std::string>& environment = {});
    ~RunningJob();
    RunningJob(const RunningJob&) = delete;
    RunningJob& operator=(const RunningJob&) = delete;

    // Waits until the metrics contain a step. Returns false if the job ends before.
    bool wait_for_first_step();
    // Returns the process of a rank, or 0 if there is none.
    pid_t process_of(int rank) const;
    int processes() const;
    pid_t launcher() const { return launcher_; }
    // Returns the job's output so far.
    std::string output() const;
    ProgramResult wait();

private:
    bool ended();

    std::string model_;
    ScratchFolder streams_;
    pid_t launcher_ = 0;
    int status_ = -1;
};

}  // namespace lockstep::tests
