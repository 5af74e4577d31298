// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/variables.hpp"

namespace lockstep::comm {

// Throws a config error if a launcher whose variables Lockstep does not read has started this as
// one of several: each would train by itself. The message says what to type instead.
void refuse_other_launchers(const Variables& variables);

}  // namespace lockstep::comm
