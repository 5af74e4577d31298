// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/supervisor.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <stdexcept>

#include "tests/fuzz/engine/bytes.hpp"

namespace lockstep::fuzz {
namespace {

Shared& shared_memory() {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    return *new (memory) Shared{};
}

[[noreturn]] void run_child(const std::function<void(Shared&)>& work, Shared& shared) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    try {
        work(shared);
        shared.finished = true;
    } catch (const std::exception& failure) {
        std::cerr << "fuzz: an exception of another type than Error: " << failure.what()
                  << std::endl;
        std::abort();
    }
    ::_exit(EXIT_SUCCESS);
}

std::string end_of(int status) {
    if (WIFEXITED(status)) return "it ended with code " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF) return "it took too much processor time";
    if (signal == SIGALRM) return "it stood still";
    return std::string("it was ended by the signal \"") + strsignal(signal) + "\"";
}

// Returns the status of a child process that did the work.
int status_after(const std::function<void(Shared&)>& work, Shared& shared) {
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no further process can be started");
    if (child == 0) run_child(work, shared);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

bool took_too_long(int status) {
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
}

}  // namespace

int supervise(const Settings& settings, const Work& work) {
    Shared& shared = shared_memory();
    int status = status_after(work.all, shared);
    std::cout << settings.program << ": " << shared.executions << " executions, seed "
              << settings.seed << ", " << settings.inputs.size() << " given inputs, " << shared.kept
              << " kept, " << shared.blocks << " blocks" << std::endl;
    const auto* input = shared.input.data();
    const Bytes bytes(input, input + shared.size);
    if (took_too_long(status)) {
        status = status_after([&](Shared& again) { work.one(again, bytes); }, shared);
        if (status == 0)
            std::cout << settings.program << ": ended early, because an input took long once, and "
                      << "not again when it was alone" << std::endl;
    }
    if (shared.finished && status == 0) return EXIT_SUCCESS;
    const std::string path = settings.failures + "/" + settings.program + "-" + name_of(bytes);
    write_bytes(path, bytes);
    std::cout << settings.program << ": FAILED, " << end_of(status) << "; the input is " << path
              << std::endl;
    return EXIT_FAILURE;
}

}  // namespace lockstep::fuzz
