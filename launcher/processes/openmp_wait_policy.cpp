// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/openmp_wait_policy.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "launcher/processes/spin_count.hpp"
#include "runtime/files/own_binary.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* variable = "GOMP_SPINCOUNT";
constexpr const char* policy = "OMP_WAIT_POLICY";

// Threads that spin as long as waking one takes meet as fast as those that spin longer, as long as
// each has a core. Where one has lost its core to another process, the others leave theirs to it
// at once.
std::string count() { return std::to_string(spin_count(measured_pause())); }

}  // namespace

void set_openmp_wait_policy(comm::Environment& environment) {
    if (!environment.contains(policy)) environment.try_emplace(variable, count());
}

void set_openmp_wait_policy(char** argv) {
    if (std::getenv(variable) != nullptr || std::getenv(policy) != nullptr) return;
    setenv(variable, count().c_str(), 1);
    // The path matters: ps and pkill would call a process "exe" that was started as /proc/self/exe.
    execv(own_binary_called(argv[0]).c_str(), argv);
}

}  // namespace lockstep::launcher
