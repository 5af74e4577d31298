// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "launcher/host/stack_limits.hpp"
#include "launcher/processes/openmp_wait_policy.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/already_told.hpp"
#include "launcher/text/exception_text.hpp"
#include "launcher/text/exit_code.hpp"
#include "launcher/text/line_time.hpp"
#include "launcher/text/output_reader.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"

namespace {

using namespace lockstep;

// Returns NAME of `lockstep NAME ...`, or the program's own name when it was called through a link
// to lockstep.
std::string program_name(std::vector<std::string>& words) {
    std::string name = std::filesystem::path(words.front()).filename();
    words.erase(words.begin());
    if (launcher::find_program(name) != nullptr) return name;
    if (words.empty() || words.front() == "--help" || words.front() == "-h") return "help";
    if (words.front() == "--version") return "version";
    // torch.distributed.launch hands the rank's argument on before all other words.
    const bool rank_first = words.size() > 1 && (words.front().starts_with("--local-rank=") ||
                                                 words.front().starts_with("--local_rank="));
    if (rank_first) std::swap(words[0], words[1]);
    name = words.front();
    words.erase(words.begin());
    if (!name.starts_with("-")) std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// Prevents a file from getting the descriptor of a closed standard stream. It would otherwise
// receive what is written to that stream.
void occupy_closed_streams() {
    for (int stream = 0; stream <= 2; ++stream) {
        // The descriptor is opened in the wrong direction: reading or writing the stream fails as
        // before.
        if (::fcntl(stream, F_GETFD) == -1 &&
            ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) != stream)
            return;
    }
}

// Makes the call that causes the signal fail instead of ending the process. A handler that does
// nothing is not inherited by programs that this one starts, unlike an ignored signal.
void outlive(int signal) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART;
    ::sigaction(signal, &nothing, nullptr);
}

// Writes the line in one piece because other ranks write to the same terminal.
void complain(const std::string& name, const std::string& what) {
    std::cerr << shown(name) + ": " + what + "\n" << std::flush;
}

[[noreturn]] void end_without_memory() {
    constexpr std::string_view line =
        "lockstep: out of memory; take a smaller batch (-bs, --batch-tokens) or model\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(1);
}

// HDF5 calls exit(-1) without a word where it cannot register an object. No program returns -1.
void tell_of_exit(int status, void*) {
    if (status == -1) end_without_memory();
}

// Ends the process with one line where a library needs memory for giving memory back, as the
// destructor of a JSON value does: an exception cannot leave a destructor.
[[noreturn]] void end_at_unhandled_exception() {
    try {
        if (std::current_exception() != nullptr) throw;
    } catch (const std::bad_alloc&) {
        end_without_memory();
    } catch (...) {
        __gnu_cxx::__verbose_terminate_handler();
    }
    std::abort();
}

// Tells whether the words ask for an answer, which its reader may leave when it has seen enough, as
// `train -h | head -2` does.
bool ask_for_answer(const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 3> answers{"-h", "--help", "--dump-config"};
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return std::find(answers.begin(), answers.end(), word) != answers.end();
    });
}

// Tells whether the error is only that nobody reads the answer.
bool is_unread(const Error& error) {
    const auto* failure = dynamic_cast<const SystemFailure*>(&error);
    const bool may_be = failure != nullptr && (failure->code() == EPIPE || failure->code() == 0);
    return may_be && !std::cout && launcher::nobody_reads_output();
}

// Flushes standard output and returns the exit code. A full disk shows only now, and a program
// whose answer could not be written has failed.
int written(const launcher::Program& program, const std::string& name, int code) {
    errno = 0;
    if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    const std::string reason = errno == 0 ? "" : ": " + std::generic_category().message(errno);
    const bool answers = program.output != launcher::Output::log;
    if (answers && launcher::nobody_reads_output()) return code == 0 ? 1 : code;
    complain(name, "standard output cannot be written" + reason +
                       (answers ? "" : "; the run went on without it"));
    return code == 0 && answers ? 1 : code;
}

// Returns the exit code. Relative paths mean nothing in a folder that somebody has removed.
int told_of_folder(const std::string& name, const std::filesystem::filesystem_error& error) {
    std::error_code gone;
    const std::filesystem::path folder = std::filesystem::current_path(gone);
    complain(name, gone ? "the current folder does not exist any more; change to another"
                        : launcher::exception_text(error));
    return gone ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    occupy_closed_streams();
    std::set_terminate(end_at_unhandled_exception);
    ::on_exit(tell_of_exit, nullptr);
    std::vector<std::string> words(argv, argv + argc);
    const std::string name = program_name(words);
    const launcher::Program* program = launcher::find_program(name);
    const bool logs = program != nullptr && program->output == launcher::Output::log;
    const launcher::TimedLines timed_output(logs ? &std::cout : nullptr);
    const launcher::TimedLines timed_errors(logs ? &std::cerr : nullptr);
    try {
        if (program == nullptr) {
            throw Error(ErrorKind::config, "no such program; " + launcher::advice_on_program(name));
        }
        launcher::require_stack();
        // Ctrl-C also ends the `tee` of `train | tee log`, and the run still has to save its
        // checkpoint.
        if (program->output == launcher::Output::log && !ask_for_answer(words)) outlive(SIGPIPE);
        outlive(SIGXFSZ);  // a file that may not grow (ulimit -f) is told like a full disk
        if (program->load == launcher::Load::computes) {
            launcher::require_thread_stacks();
            launcher::set_openmp_wait_policy(argv);
        }
        std::optional<launcher::EndWithReader> reader;
        if (program->output == launcher::Output::only_answer) reader.emplace();
        return written(*program, name, program->run(words));
    } catch (const launcher::AlreadyTold& e) {
        return launcher::exit_code(e);
    } catch (const Error& e) {
        if (!is_unread(e)) complain(name, e.what());
        return launcher::exit_code(e);
    } catch (const std::filesystem::filesystem_error& e) {
        return told_of_folder(name, e);
    } catch (const std::exception& e) {
        complain(name, launcher::exception_text(e));
        return 1;
    }
}
