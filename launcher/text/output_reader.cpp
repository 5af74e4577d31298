// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/output_reader.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace lockstep::launcher {

namespace {

constexpr int look_ms = 500;

bool output_is_pipe() {
    struct stat status {};
    return ::fstat(STDOUT_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
}

bool has_no_reader(int pipe) {
    pollfd entry{pipe, 0, 0};
    return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLERR) != 0;
}

bool is_relayed() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

// mpirun gives its ranks a terminal, and reads it also when nobody reads what mpirun prints itself.
// The pipe is opened again, and nothing is written to it.
bool nobody_reads_launcher() {
    if (!is_relayed()) return false;
    const std::string output = "/proc/" + std::to_string(::getppid()) + "/fd/1";
    std::array<char, 64> target{};
    const ssize_t length = ::readlink(output.c_str(), target.data(), target.size());
    constexpr std::string_view pipe = "pipe:";
    if (length <= 0 ||
        !std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(pipe))
        return false;
    const FileDescriptor again(::open(output.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return again && has_no_reader(again.raw());
}

}  // namespace

bool nobody_reads_output() {
    if (!output_is_pipe()) return nobody_reads_launcher();
    return has_no_reader(STDOUT_FILENO) || nobody_reads_launcher();
}

// The thread blocks all signals, which must reach the thread that waits for them. A process that
// may start no further thread notices at its next write.
EndWithReader::EndWithReader() : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_ || !(output_is_pipe() || is_relayed())) return;
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EndWithReader::~EndWithReader() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_.raw(), &one, sizeof one);
    thread_.join();
}

void EndWithReader::watch() const {
    const int pipe = output_is_pipe() ? STDOUT_FILENO : -1;  // poll() passes over -1
    while (!nobody_reads_output()) {
        std::array<pollfd, 2> entries{{{stop_.raw(), POLLIN, 0}, {pipe, 0, 0}}};
        ::poll(entries.data(), entries.size(), is_relayed() ? look_ms : -1);
        if ((entries.front().revents & POLLIN) != 0) return;
    }
    ::signal(SIGPIPE, SIG_DFL);
    ::kill(::getpid(), SIGPIPE);
}

}  // namespace lockstep::launcher
