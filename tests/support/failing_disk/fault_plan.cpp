// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/fault_plan.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep::failing_disk {
namespace {

Decision fault_of(const std::string& action) {
    if (action == "short") return {Act::shorten};
    if (action == "kill-before") return {Act::kill_before};
    if (action == "kill-after") return {Act::kill_after};
    return {Act::fail, std::atoi(action.c_str())};
}

}  // namespace

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

FaultPlan& FaultPlan::of_this_process() {
    static FaultPlan* const plan = new FaultPlan;  // also for calls after the end of main()
    return *plan;
}

FaultPlan::FaultPlan()
    : folder_(variable("LOCKSTEP_DISK_FOLDER")),
      kinds_(variable("LOCKSTEP_DISK_KINDS")),
      flag_(variable("LOCKSTEP_DISK_FLAG")),
      fault_(fault_of(variable("LOCKSTEP_DISK_ACTION"))),
      at_(std::atoi(variable("LOCKSTEP_DISK_AT").c_str())),
      onward_(variable("LOCKSTEP_DISK_ONWARD") == "1") {
    // A system call passes by this library's own open().
    if (const std::string log = variable("LOCKSTEP_DISK_LOG"); !log.empty())
        log_ = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, log.c_str(),
                                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
}

bool FaultPlan::covers(const std::string& path) const {
    return !folder_.empty() && path.starts_with(folder_) &&
           (path.size() == folder_.size() || path[folder_.size()] == '/');
}

bool FaultPlan::counts(Kind kind) const {
    return kinds_.empty() ||
           ("," + kinds_ + ",").find("," + std::string(name(kind)) + ",") != std::string::npos;
}

Decision FaultPlan::decide(Kind kind, const std::string& path) {
    if (!counts(kind)) return {};
    if (!flag_.empty() && ::access(flag_.c_str(), F_OK) != 0) return {};
    const int number = ++calls_;
    const bool faulty = at_ > 0 && (number == at_ || (onward_ && number > at_));
    if (log_ >= 0) {
        const std::string line =
            std::to_string(number) + " " + name(kind) + " " + path + (faulty ? " !\n" : "\n");
        (void)!::syscall(SYS_write, log_, line.data(), line.size());
    }
    return faulty ? fault_ : Decision{};
}

}  // namespace lockstep::failing_disk
