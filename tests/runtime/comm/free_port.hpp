// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::tests {

// Returns a port of 127.0.0.1 on which no process listens; the 15 ports above it are free too.
int free_port();

}  // namespace lockstep::tests
