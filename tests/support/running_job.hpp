// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// A training job that runs beside the test, to be disturbed from outside. Nothing of it outlives
// the object.
class RunningJob {
public:
    // `line` is split at blanks; it trains into the folder `model`.
    RunningJob(const std::string& line, const std::string& model,
               const std::map<std::string, std::string>& environment = {});
    ~RunningJob();
    RunningJob(const RunningJob&) = delete;
    RunningJob& operator=(const RunningJob&) = delete;

    // Until metrics tell of a step; false where the job ends before.
    bool wait_for_first_step();
    // The process of a rank, 0 where there is none.
    pid_t process_of(int rank) const;
    int processes() const;
    pid_t launcher() const { return launcher_; }
    // What it has written so far.
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
