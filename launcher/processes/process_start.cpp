// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/process_start.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep::launcher {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

struct Streams {
    int output, error;  // -1: inherited
};

// Runs in the child. Only async-signal-safe calls are allowed from here to exec.
[[noreturn]] void become(char** argv, char** environment, pid_t parent, const sigset_t& mask,
                         Streams streams, int report) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool redirected = (streams.output < 0 || ::dup2(streams.output, STDOUT_FILENO) >= 0) &&
                            (streams.error < 0 || ::dup2(streams.error, STDERR_FILENO) >= 0);
    if (redirected && ::getppid() == parent) {  // otherwise the parent died before the prctl
        ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        ::execvpe(argv[0], argv, environment);
    }
    const int failure = errno;
    [[maybe_unused]] const auto written = ::write(report, &failure, sizeof failure);
    ::_exit(127);
}

}  // namespace

pid_t start_process(const ProcessSpec& spec, const sigset_t& mask) {
    require(!spec.command.empty(), "a process needs a command");
    std::vector<std::string> words = spec.command;
    std::vector<std::string> variables;
    for (const auto& [name, value] : spec.environment) variables.push_back(name + "=" + value);
    const auto argv = pointers_to(words);
    const auto environment = pointers_to(variables);
    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe", words.front());
    const FileDescriptor reads(report[0]);
    FileDescriptor writes(report[1]);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        become(const_cast<char**>(argv.data()), const_cast<char**>(environment.data()), parent,
               mask, {spec.standard_output, spec.standard_error}, writes.raw());
    }
    int failure = pid < 0 ? errno : 0;
    writes = FileDescriptor();  // the read below then ends when the child executes
    const bool told = pid > 0 && ::read(reads.raw(), &failure, sizeof failure) == sizeof failure;
    if (pid < 0 || told) {
        if (pid > 0) ::waitpid(pid, nullptr, 0);
        const std::string what = "cannot start " + shown(words.front()) + ": " +
                                 std::generic_category().message(failure);
        if (is_transient(failure) || failure == ENOMEM) throw TransientFailure(what, failure);
        throw Error(ErrorKind::launch, what);
    }
    ::setpgid(pid, pid);  // the child does this, too; whichever is first, the group exists now
    return pid;
}

}  // namespace lockstep::launcher
