// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/lockstep_command.hpp"

#include <algorithm>
#include <filesystem>

#include "launcher/processes/program_names.hpp"
#include "runtime/comm/environment/started_ranks.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/own_binary.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* binary = "lockstep";

// Returns the program's own name for a name or an alias.
std::string as_program(const std::string& word) {
    const ProgramName* program = find_program_name(word);
    return program == nullptr ? "" : std::string(program->name);
}

std::string program_for_ranks(const std::string& program) {
    return program.ends_with("train") ? "distributed_train" : "distributed_eval";
}

std::string separate_runs(int processes, const std::string& program) {
    return std::to_string(processes) + " times " + program + " would be as many runs on their own";
}

}  // namespace

std::string lockstep_program(const std::vector<std::string>& command) {
    if (command.empty()) return "";
    const std::string called = std::filesystem::path(command.front()).filename();
    if (called != binary) return as_program(called);
    if (command.size() < 2) return "";
    std::string word = command[1];
    std::replace(word.begin(), word.end(), '-', '_');
    return as_program(word);
}

std::string model_folder_of_command(const std::vector<std::string>& command) {
    if (!lockstep_program(command).ends_with("train")) return "";
    std::string folder;
    for (std::size_t i = 1; i < command.size(); ++i) {
        for (const std::string option : {"-mf", "--mf", "--model-file", "--model_file"}) {
            if (command[i] == option && i + 1 < command.size()) folder = command[i + 1];
            if (command[i].starts_with(option + "=")) folder = command[i].substr(option.size() + 1);
        }
    }
    return folder;
}

std::vector<std::string> with_own_binary(const std::vector<std::string>& command) {
    if (lockstep_program(command).empty() || command.front().find('/') != std::string::npos) {
        return command;
    }
    std::vector<std::string> words = command;
    const std::string path = own_binary();
    if (words.front() == binary) {
        words.front() = path;
    } else {
        words.insert(words.begin(), path);
    }
    return words;
}

void require_ranks(const std::vector<std::string>& command, int processes) {
    const std::string program = lockstep_program(command);
    if (processes == 1 ||
        (program != "train" && program != "eval" && !program.starts_with("multiprocessing_"))) {
        return;
    }
    throw Error(ErrorKind::config, separate_runs(processes, program) + "; start " +
                                       program_for_ranks(program) + ", whose ranks work together");
}

void require_one_process(const std::string& program, const std::vector<std::string>& args,
                         const comm::Environment& environment) {
    for (const std::string& word : args)
        if (word == "--help" || word == "-h" || word == "--dump-config") return;
    const auto started = comm::started_ranks(environment, comm::own_standard_input());
    if (!started) return;
    const bool hosts = started->kind == comm::StartedKind::hosts;
    const std::string what =
        std::to_string(started->count) + (hosts ? " hosts were started" : " ranks were started");
    const std::string instead =
        program == "ladder"
            ? what + ", and its runs are of this machine: type it without them"
            : what + ": type " + (hosts ? "distributed_launch " : "") + program_for_ranks(program) +
                  ", whose ranks work together; " + separate_runs(started->count, program);
    throw Error(ErrorKind::config,
                instead + ". Where this is one run " +
                    (hosts ? "of one host, unset " : "in a shell of a rank, unset ") +
                    started->variable);
}

}  // namespace lockstep::launcher
