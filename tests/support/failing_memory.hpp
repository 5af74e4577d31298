// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::tests {

// Says which allocations get no memory: one alone, or that one and after it all that are not small.
enum class Lack { once, lasting };

// Makes malloc, calloc or realloc fail where a C library that is linked into the program as an
// archive calls them: the call number `first` (from 0, counted from now on). This lasts until the
// process ends, so it belongs in a forked child. The program must be linked with failing_memory.
void let_allocations_fail(long first, Lack lack);

// Returns how many allocations have failed.
long failed_allocations();

}  // namespace lockstep::tests
