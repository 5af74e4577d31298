// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::tests {

// A port of 127.0.0.1 on which nobody listens, nor on the 15 above it.
int free_port();

}  // namespace lockstep::tests
