// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "launcher/processes/process_group.hpp"

namespace lockstep::launcher {

// Starts a process with this signal mask as the leader of its own process group. The kernel kills
// it when this process ends. Returns once the program runs; throws kind launch when it cannot be
// started.
pid_t start_process(const ProcessSpec& spec, const sigset_t& mask);

}  // namespace lockstep::launcher
