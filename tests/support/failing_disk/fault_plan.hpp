// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "tests/support/failing_disk/call_kind.hpp"

namespace lockstep::failing_disk {

enum class Act { pass, fail, shorten, kill_before, kill_after };

struct Decision {
    Act act = Act::pass;
    int error = 0;  // errno of a failing call
};

// Says what happens to a call. The environment describes the plan:
//   LOCKSTEP_DISK_FOLDER  only calls on this absolute path and on paths below it are counted
//   LOCKSTEP_DISK_KINDS   the kinds that are counted, separated by commas; absent: all
//   LOCKSTEP_DISK_AT      the number of the call, from 1, that meets the fault; 0 or absent: none
//   LOCKSTEP_DISK_ACTION  an errno, "short" (a write writes half of its bytes), "kill-before" or
//                         "kill-after" (SIGKILL)
//   LOCKSTEP_DISK_ONWARD  "1": the calls after that one fail as well
//   LOCKSTEP_DISK_FLAG    faults happen only while this file exists
//   LOCKSTEP_DISK_LOG     a file to which one line for each counted call is appended:
//                         "NUMBER KIND PATH", and " !" after the call that met the fault
class FaultPlan {
public:
    static FaultPlan& of_this_process();

    bool covers(const std::string& path) const;
    Decision decide(Kind kind, const std::string& path);

private:
    FaultPlan();
    bool counts(Kind kind) const;

    std::string folder_, kinds_, flag_;
    Decision fault_;
    int at_ = 0, log_ = -1;
    bool onward_ = false;
    std::atomic<int> calls_{0};
};

// Returns the value of an environment variable, or "" if it is not set.
std::string variable(const char* name);

}  // namespace lockstep::failing_disk
