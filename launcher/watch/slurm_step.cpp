// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/slurm_step.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

namespace lockstep::launcher {

void kill_slurm_step(const std::string& step) {
    using namespace std::chrono_literals;
    std::string program = "scancel", signal = "--signal=KILL", name = step;
    std::array<char*, 4> words{program.data(), signal.data(), name.data(), nullptr};
    pid_t process = 0;
    // fork() is not safe here because this process has threads.
    if (::posix_spawnp(&process, "scancel", nullptr, nullptr, words.data(), environ) != 0) return;
    for (int waits = 0; waits < 200; ++waits) {
        if (::waitpid(process, nullptr, WNOHANG) != 0) return;
        std::this_thread::sleep_for(10ms);
    }
}

}  // namespace lockstep::launcher
