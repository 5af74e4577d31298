// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// Represents a list of types.
template <class... T>
struct Types {};

}  // namespace lockstep
