// SPDX-License-Identifier: Apache-2.0
#include "launcher/own_program.hpp"

#include <algorithm>
#include <filesystem>

#include "launcher/programs.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* binary = "lockstep";

std::string as_program(const std::string& word) {
    std::string name = word;
    std::replace(name.begin(), name.end(), '-', '_');
    return find_program(name) == nullptr ? "" : name;
}

}  // namespace

std::string own_program(const std::vector<std::string>& command) {
    if (command.empty()) return "";
    const std::string called = std::filesystem::path(command.front()).filename();
    if (called != binary) return find_program(called) == nullptr ? "" : called;
    return command.size() < 2 ? "" : as_program(command[1]);
}

std::vector<std::string> with_own_binary(const std::vector<std::string>& command) {
    if (own_program(command).empty() || command.front().find('/') != std::string::npos) {
        return command;
    }
    std::vector<std::string> words = command;
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    if (words.front() == binary) {
        words.front() = path;
    } else {
        words.insert(words.begin(), path);
    }
    return words;
}

void require_ranks(const std::vector<std::string>& command, int processes) {
    const std::string program = own_program(command);
    if (processes == 1 ||
        (program != "train" && program != "eval" && !program.starts_with("multiprocessing_"))) {
        return;
    }
    const bool trains = program.ends_with("train");
    throw Error(ErrorKind::config, std::to_string(processes) + " times " + program +
                                       " would be as many runs on their own; start " +
                                       (trains ? "distributed_train" : "distributed_eval") +
                                       ", whose ranks work together");
}

}  // namespace lockstep::launcher
