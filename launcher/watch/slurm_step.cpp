// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/slurm_step.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace lockstep::launcher {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

enum class Called { succeeded, failed, missing };

Called call_scancel(const std::string& step, Clock::time_point deadline) {
    // The controller has to pass the signal on. Without --ctld, scancel itself sends it from host
    // to host, and is killed as soon as it has reached this one.
    std::string program = "scancel", signal = "--signal=KILL", through = "--ctld", name = step;
    std::array<char*, 5> words{program.data(), signal.data(), through.data(), name.data(), nullptr};
    pid_t process = 0;
    // fork() is not safe here because this process has threads.
    if (::posix_spawnp(&process, "scancel", nullptr, nullptr, words.data(), environ) != 0)
        return Called::missing;
    int status = 0;
    while (Clock::now() < deadline) {
        if (::waitpid(process, &status, WNOHANG) != 0)
            return status == 0 ? Called::succeeded : Called::failed;
        std::this_thread::sleep_for(10ms);
    }
    return Called::failed;
}

}  // namespace

// When the last rank of a host ends, Slurm kills what it has started there. So this rank stays
// until Slurm's controller, which may be busy for seconds, has heard of the request.
void kill_slurm_step(const std::string& step, std::chrono::milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    while (call_scancel(step, deadline) == Called::failed && Clock::now() < deadline)
        std::this_thread::sleep_for(1s);
}

}  // namespace lockstep::launcher
