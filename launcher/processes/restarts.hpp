// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/processes/process_group.hpp"

namespace lockstep::launcher {

struct RestartPolicy {
    int max_restarts = 0;
    int pause_ms = 0;  // pause before each restart, in which ranks of other launchers end as well
};

// Runs attempts 0, 1, ... until one succeeds or none is left. An attempt that was stopped from
// outside is not repeated, nor is exit code 2, which means that the request itself is wrong.
// `failed` is called with each failure and the number of the next restart (1 ..., 0: none).
GroupResult run_with_restarts(const std::function<GroupResult(int attempt)>& run,
                              const RestartPolicy& policy,
                              const std::function<void(const GroupResult&, int restart)>& failed);

// Returns a text such as "failed first, with exit code 5; the other ranks were ended, all start
// again (restart 1 of 2)".
std::string failure_text(const GroupResult& result, int restart, const RestartPolicy& policy);

// Returns the launcher's exit code: 0, the failed rank's exit code, or 1 when a signal killed it.
int exit_code_of(const GroupResult& result) noexcept;

}  // namespace lockstep::launcher
