// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/processes/process_group.hpp"

namespace lockstep::launcher {

struct RestartPolicy {
    int max_restarts = 0;
    int pause_ms = 0;  // before each: time for ranks of other launchers to end as well
};

// Runs attempts 0, 1, ... until one succeeds or none is left. Not repeated: what was stopped from
// outside, and exit code 2, by which a program says that the request itself is wrong. `failed` is
// told of each failure and which restart follows (1 ..., 0: none).
GroupResult run_with_restarts(const std::function<GroupResult(int attempt)>& run,
                              const RestartPolicy& policy,
                              const std::function<void(const GroupResult&, int restart)>& failed);

// "failed first, with exit code 5; the other ranks were ended, all start again (restart 1 of 2)"
std::string failure_text(const GroupResult& result, int restart, const RestartPolicy& policy);

// For the launcher to end with: 0, the failed rank's exit code, or 1 where a signal killed it.
int exit_code_of(const GroupResult& result) noexcept;

}  // namespace lockstep::launcher
