// SPDX-License-Identifier: Apache-2.0
#include "launcher/spinning.hpp"

#include <unistd.h>

#include <cstdlib>

namespace lockstep::launcher {

void limit_spinning(char** argv) {
    if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr)
        return;
    setenv("GOMP_SPINCOUNT", "20000", 1);
    // By its path: a process started as /proc/self/exe would be called "exe" by ps and pkill.
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) return;
    path[size] = '\0';
    execv(path, argv);
}

}  // namespace lockstep::launcher
