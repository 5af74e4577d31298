// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/openmp_wait_policy.hpp"

#include <unistd.h>

#include <cstdlib>

#include "runtime/files/own_binary.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* variable = "GOMP_SPINCOUNT";
// Some 20 to 50 microseconds, about as long as waking a thread takes. Threads then meet as fast as
// those that spin longer, as long as each has a core. Where one has lost its core to another
// process, the others leave theirs to it at once.
constexpr const char* count = "1000";
constexpr const char* policy = "OMP_WAIT_POLICY";

}  // namespace

void set_openmp_wait_policy(comm::Environment& environment) {
    if (!environment.contains(policy)) environment.try_emplace(variable, count);
}

void set_openmp_wait_policy(char** argv) {
    if (std::getenv(variable) != nullptr || std::getenv(policy) != nullptr) return;
    setenv(variable, count, 1);
    // The path matters: ps and pkill would call a process "exe" that was started as /proc/self/exe.
    execv(own_binary_called(argv[0]).c_str(), argv);
}

}  // namespace lockstep::launcher
