// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "launcher/processes/process_group.hpp"

namespace lockstep::launcher {

// Starts a process as the leader of a group of its own, with this signal mask, to be killed should
// this process end. Returns once the program runs; throws kind launch when it cannot be started.
pid_t start_process(const ProcessSpec& spec, const sigset_t& mask);

}  // namespace lockstep::launcher
