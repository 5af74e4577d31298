// SPDX-License-Identifier: Apache-2.0
#include "tests/support/running_job.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace lockstep::tests {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& streams,
                         const std::map<std::string, std::string>& environment) {
    setpgid(0, 0);
    const auto redirect = [&](const char* name, int to) {
        const int file = open((streams + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, to) < 0) _exit(126);
    };
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
    setenv("PATH", (bin + ":" + getenv("PATH")).c_str(), 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    keep_mpi_sessions_apart(streams);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv.front(), argv.data());
    _exit(127);
}

struct RankProcess {
    pid_t process;
    std::string rank;
};

// Finds the processes of ranks: they have the model's folder among their arguments and their number
// in the environment. Launchers do not have the number.
std::vector<RankProcess> ranks_of(const std::string& model) {
    std::vector<RankProcess> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string process = entry.path().filename();
        if (process.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto words = split(read_text(entry.path() / "cmdline"), '\0');
        if (std::find(words.begin(), words.end(), model) == words.end()) continue;
        for (const auto& variable : split(read_text(entry.path() / "environ"), '\0')) {
            for (const std::string name : {"RANK=", "OMPI_COMM_WORLD_RANK="}) {
                if (!variable.starts_with(name)) continue;
                found.push_back({std::stoi(process), variable.substr(name.size())});
            }
        }
    }
    return found;
}

}  // namespace

RunningJob::RunningJob(const std::string& line, const std::string& model,
                       const std::map<std::string, std::string>& environment)
    : model_(model), launcher_(fork()) {
    if (launcher_ < 0) throw std::runtime_error("fork failed");
    if (launcher_ == 0) become(split(line, ' '), streams_ / "", environment);
}

RunningJob::~RunningJob() {
    if (status_ < 0) {
        kill(-launcher_, SIGKILL);
        waitpid(launcher_, nullptr, 0);
    }
    for (const auto& rank : ranks_of(model_)) kill(rank.process, SIGKILL);
}

bool RunningJob::ended() {
    return status_ >= 0 || waitpid(launcher_, &status_, WNOHANG) == launcher_;
}

bool RunningJob::wait_for_first_step() {
    std::error_code ignored;
    while (!fs::exists(model_ + "/metrics.jsonl") ||
           fs::file_size(model_ + "/metrics.jsonl", ignored) == 0) {
        if (ended()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

pid_t RunningJob::process_of(int rank) const {
    for (const auto& found : ranks_of(model_)) {
        if (found.rank == std::to_string(rank)) return found.process;
    }
    return 0;
}

int RunningJob::processes() const { return static_cast<int>(ranks_of(model_).size()); }

std::string RunningJob::output() const { return read_text(streams_ / "out"); }

ProgramResult RunningJob::wait() {
    if (status_ < 0) waitpid(launcher_, &status_, 0);
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
            read_text(streams_ / "out"), read_text(streams_ / "err")};
}

}  // namespace lockstep::tests
