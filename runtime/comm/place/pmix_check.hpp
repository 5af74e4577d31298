// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/net/environment.hpp"

namespace lockstep::comm {

// Throws kind config where the environment says that a PMIx daemon started this process, and none
// answers there: MPI_Init would abort. Knocks at its port, no more.
void require_pmix_daemon(const Environment& environment);

}  // namespace lockstep::comm
