// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/thread_stack.hpp"

#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr int max_frames = 64;

// Returns a real-time signal because Slurm and submitit use USR1 and USR2 for warnings.
int asking_signal() { return SIGRTMIN + 1; }

// Handles the signal, whose value is the pipe to write to. Only this process may ask.
void answer(int /*signal*/, siginfo_t* info, void* /*context*/) {
    if (info->si_code != SI_QUEUE || info->si_pid != ::getpid()) return;
    const int before = errno;
    std::array<void*, max_frames> frames{};
    const int count = ::backtrace(frames.data(), max_frames);
    ::backtrace_symbols_fd(frames.data(), count, info->si_value.sival_int);
    [[maybe_unused]] const auto written = ::write(info->si_value.sival_int, "\n", 1);
    errno = before;
}

// Turns "program(_ZN3foo3barEv+0x12) [0x5581]" into "foo::bar()". A line without a name is
// unchanged.
std::string readable(const std::string& line) {
    const auto open = line.find('(');
    const auto plus = line.find('+', open);
    if (open == std::string::npos || plus == std::string::npos || plus == open + 1) return line;
    const std::string symbol = line.substr(open + 1, plus - open - 1);
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? std::string(plain.get()) : symbol;
}

// An empty line ends the answer.
std::string read_answer(int pipe, int timeout_ms) {
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd entry{pipe, POLLIN, 0};
    while (!text.ends_with("\n\n") && ::poll(&entry, 1, timeout_ms) > 0) {
        const auto count = ::read(pipe, buffer.data(), buffer.size());
        if (count <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace

ThreadStack::ThreadStack() : thread_(::pthread_self()) {
    std::array<void*, 1> frame{};
    ::backtrace(frame.data(), 1);  // the first call loads a library, which a handler must not do
    struct sigaction action {};
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(asking_signal(), &action, nullptr);
}

std::string ThreadStack::take(int timeout_ms) const {
    std::array<int, 2> ends{};
    // The thread may answer late. Its end of the pipe therefore stays open and must not block it.
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
    const FileDescriptor reads(ends[0]);
    sigval value{};
    value.sival_int = ends[1];
    if (::pthread_sigqueue(thread_, asking_signal(), value) != 0) return {};
    std::istringstream lines(read_answer(reads.raw(), timeout_ms));
    std::string text;
    constexpr int own_frames = 2;  // the handler, and the kernel's call of it
    std::string line;
    for (int index = 0; std::getline(lines, line) && !line.empty(); ++index) {
        if (index >= own_frames) text += readable(line) + "\n";
    }
    if (!text.empty()) ::close(ends[1]);
    return text;
}

}  // namespace lockstep::launcher
