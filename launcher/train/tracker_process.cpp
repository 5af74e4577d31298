// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/tracker_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include "launcher/rank/loaded_model.hpp"

namespace lockstep::launcher {

namespace {

std::vector<std::string> words_of(const RunConfig& config) {
    const char* python = std::getenv("LOCKSTEP_PYTHON");
    std::vector<std::string> words{python != nullptr && *python != '\0' ? python : "python3", "-m",
                                   "lockstep.track", config.model_file};
    const std::size_t without = words.size();
    if (config.trackers.wandb) words.emplace_back("--wandb");
    if (config.trackers.mlflow) words.emplace_back("--mlflow");
    if (config.trackers.comet) words.emplace_back("--comet");
    if (words.size() == without) words.clear();
    return words;
}

std::string command_of(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    return text;
}

// A group of its own keeps Ctrl-C and a launcher's TERM away from it, which would end it before the
// last lines. What it prints is no part of this program's output.
class Spawning {
public:
    explicit Spawning(int input) {
        ::posix_spawn_file_actions_init(&files_);
        ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&files_, STDERR_FILENO, STDOUT_FILENO);
        ::posix_spawnattr_init(&attributes_);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;
    ~Spawning() {
        ::posix_spawnattr_destroy(&attributes_);
        ::posix_spawn_file_actions_destroy(&files_);
    }

    // Returns 0 or the error's number.
    int start(std::vector<std::string> words, pid_t& process) const {
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        return ::posix_spawnp(&process, pointers.front(), &files_, &attributes_, pointers.data(),
                              environ);
    }

private:
    posix_spawn_file_actions_t files_{};
    posix_spawnattr_t attributes_{};
};

}  // namespace

TrackerProcess::TrackerProcess(const RunConfig& config, int rank) {
    if (rank == 0) start(config);
}

void TrackerProcess::start(const RunConfig& config) {
    std::vector<std::string> words = words_of(config);
    if (words.empty()) return;
    command_ = command_of(words) + "--once";
    words.emplace_back("--until-eof");
    std::array<int, 2> pipe{};
    int failure = ::pipe2(pipe.data(), O_CLOEXEC) == 0 ? 0 : errno;
    if (failure == 0) {
        const FileDescriptor reads(pipe[0]);
        input_ = FileDescriptor(pipe[1]);
        failure = Spawning(reads.raw()).start(words, process_);
    }
    if (failure == 0) return;
    process_ = -1;
    warn_on_standard_error("warning: " + words.front() +
                           " cannot be started to send metrics to trackers: " +
                           std::generic_category().message(failure) +
                           "; training goes on, and this sends them later: " + command_);
}

void TrackerProcess::finish() {
    if (process_ < 0) return;
    input_ = FileDescriptor();
    constexpr int wait_ms = 30'000, step_ms = 20;
    int status = 0;
    pid_t ended = 0;
    for (int waited_ms = 0; ended == 0 && waited_ms < wait_ms; waited_ms += step_ms) {
        if (waited_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
        ended = ::waitpid(process_, &status, WNOHANG);
    }
    // Whoever reads this program's output to its end would wait for that process, too.
    if (ended == 0) {
        ::kill(-process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        warn_on_standard_error(
            "warning: the trackers have not taken the last metrics within 30 s; this sends the "
            "rest: " +
            command_);
    }
    process_ = -1;
    if (ended <= 0 || status == 0) return;
    const std::string how =
        WIFSIGNALED(status)
            ? "signal " + std::to_string(WTERMSIG(status)) + " has ended"
            : "an error (code " + std::to_string(WEXITSTATUS(status)) + ") has ended";
    warn_on_standard_error("warning: " + how +
                           " what sends metrics to trackers; this sends the rest: " + command_);
}

}  // namespace lockstep::launcher
