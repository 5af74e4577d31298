// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/disk_fault.hpp"

#include <cstring>
#include <sstream>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

std::string DiskFault::text() const {
    const int code = std::atoi(action.c_str());
    return "call " + std::to_string(at) + ": " + (code > 0 ? ::strerrorname_np(code) : action) +
           (onward == Onward::yes ? " onward" : "");
}

std::map<std::string, std::string> on_failing_disk(const DiskFault& fault, const DiskFiles& files) {
    const std::string program = program_path("lockstep");
    std::map<std::string, std::string> environment = {
        {"LD_PRELOAD", program.substr(0, program.rfind('/')) + "/libfailing_disk.so"},
        {"LOCKSTEP_DISK_FOLDER", files.folder},
        {"LOCKSTEP_DISK_AT", std::to_string(fault.at)},
        {"LOCKSTEP_DISK_ACTION", fault.action},
        {"LOCKSTEP_DISK_ONWARD", fault.onward == Onward::yes ? "1" : "0"}};
    if (!files.log.empty()) environment["LOCKSTEP_DISK_LOG"] = files.log;
    if (!files.journal.empty()) environment["LOCKSTEP_DISK_JOURNAL"] = files.journal;
    return environment;
}

std::vector<DiskCall> disk_calls(const std::string& log) {
    std::vector<DiskCall> calls;
    std::istringstream lines(read_text(log));
    for (DiskCall call; lines >> call.number >> call.kind >> call.path;) {
        calls.push_back(call);
        lines.ignore(1000, '\n');
    }
    return calls;
}

}  // namespace lockstep::tests
