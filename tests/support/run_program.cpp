// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "tests/support/files.hpp"

namespace lockstep::tests {

namespace fs = std::filesystem;

namespace {

fs::path build_bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

[[noreturn]] void run_child(const std::vector<std::string>& command, const ProgramInput& input,
                            const fs::path& streams) {
    const auto reopen = [](const fs::path& path, int flags, int to) {
        const int file = open(path.c_str(), flags, 0600);
        if (file < 0 || dup2(file, to) < 0) _exit(126);
    };
    reopen(streams / "in", O_RDONLY, STDIN_FILENO);
    reopen(streams / "out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    reopen(streams / "err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    keep_mpi_sessions_apart(streams);
    for (const auto& [name, value] : input.environment) setenv(name.c_str(), value.c_str(), 1);
    if (!input.folder.empty() && chdir(input.folder.c_str()) != 0) _exit(126);
    const std::string program = program_path(command.front());
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(program.c_str(), argv.data());
    _exit(127);
}

}  // namespace

std::string program_path(const std::string& name) {
    const fs::path built = build_bin() / name;
    return fs::exists(built) ? built.string() : name;
}

void keep_mpi_sessions_apart(const std::string& scratch) {
    setenv("OMPI_MCA_orte_tmpdir_base", scratch.c_str(), 1);
}

ProgramResult run_program(const std::vector<std::string>& command, const ProgramInput& input) {
    const ScratchFolder streams;
    write_text(streams / "in", input.standard_input);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) run_child(command, input, streams / "");
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            read_text(streams / "out"), read_text(streams / "err")};
}

ProgramResult run_line(const std::string& line, const ProgramInput& input) {
    std::istringstream words(line);
    return run_program({std::istream_iterator<std::string>(words), {}}, input);
}

}  // namespace lockstep::tests
