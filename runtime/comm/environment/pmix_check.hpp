// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// Throws kind config when the environment says that a PMIx daemon started this process but no
// daemon answers there: MPI_Init would abort. It only connects to the daemon's port.
void require_pmix_daemon(const Environment& environment);

// Tells whether the environment names a daemon of PMIx, and none answers there: its variables are
// left over from a job that has ended. It only connects to the daemon's port.
bool pmix_daemon_is_gone(const Environment& environment);

}  // namespace lockstep::comm
