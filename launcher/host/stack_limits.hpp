// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::launcher {

// Both throw kind config if a stack is smaller than what Lockstep may need; a program that lacks
// stack ends by SIGSEGV.

// Looks at the stack of this program (ulimit -s).
void require_stack();
// Looks at the stacks of OpenMP's threads (OMP_STACKSIZE; GOMP_STACKSIZE if that is not valid).
void require_thread_stacks();

}  // namespace lockstep::launcher
