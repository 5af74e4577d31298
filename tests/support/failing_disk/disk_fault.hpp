// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::tests {

enum class Onward { no, yes };

// A fault that the failing disk makes (tests/support/failing_disk/fault_plan.hpp).
struct DiskFault {
    int at = 0;          // the number of the call, from 1; 0: no fault
    std::string action;  // an errno, "short", "kill-before" or "kill-after"
    Onward onward = Onward::no;

    std::string text() const;
};

// Names the files of the failing disk for one program.
struct DiskFiles {
    std::string folder;   // the folder under test
    std::string log;      // empty: no log of the calls
    std::string journal;  // a folder that exists; empty: no record of what is synced
};

// Returns the environment in which a program meets the fault.
std::map<std::string, std::string> on_failing_disk(const DiskFault& fault, const DiskFiles& files);

struct DiskCall {
    int number;
    std::string kind, path;
};

// Returns the calls that the log tells.
std::vector<DiskCall> disk_calls(const std::string& log);

}  // namespace lockstep::tests
