// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// Throws kind config when the environment says that a PMIx daemon started this process but no
// daemon answers there: MPI_Init would abort. It only connects to the daemon's port.
void require_pmix_daemon(const Environment& environment);

}  // namespace lockstep::comm
