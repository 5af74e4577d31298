// SPDX-License-Identifier: Apache-2.0
#include "tests/support/terminal.hpp"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/run_program.hpp"

namespace lockstep::tests {

namespace {

constexpr int longest_wait_ms = 120'000;

}  // namespace

TerminalProgram::TerminalProgram(const std::vector<std::string>& command) {
    const std::string program = program_path(command.front());
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    winsize size{.ws_row = 24, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    int terminal = -1;
    child_ = forkpty(&terminal, nullptr, nullptr, &size);
    if (child_ < 0) throw std::runtime_error("forkpty failed");
    if (child_ == 0) {
        setenv("TERM", "xterm", 1);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    terminal_ = FileDescriptor(terminal);
}

TerminalProgram::~TerminalProgram() {
    if (child_ < 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
}

void TerminalProgram::type(const std::string& keys) {
    if (write(terminal_.raw(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
        throw std::runtime_error("the terminal takes no keys");
}

std::string TerminalProgram::read_until(const std::string& words) {
    std::size_t at = 0;
    while ((at = shown_.find(words)) == std::string::npos) {
        pollfd ready{terminal_.raw(), POLLIN, 0};
        char bytes[4096];
        const bool some = poll(&ready, 1, longest_wait_ms) == 1;
        const ssize_t count = some ? read(terminal_.raw(), bytes, sizeof bytes) : 0;
        if (count <= 0) throw std::runtime_error("'" + words + "' never came after: " + shown_);
        shown_.append(bytes, static_cast<std::size_t>(count));
    }
    const std::string part = shown_.substr(0, at + words.size());
    shown_.erase(0, part.size());
    return part;
}

void TerminalProgram::read_prompt(const std::string& prompt) {
    read_until(prompt);
    termios settings{};
    do {
        usleep(1000);
        if (tcgetattr(terminal_.raw(), &settings) != 0) throw std::runtime_error("no terminal");
    } while ((settings.c_lflag & ICANON) != 0);
}

int TerminalProgram::wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace lockstep::tests
