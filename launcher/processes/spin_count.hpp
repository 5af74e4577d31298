// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lockstep::launcher {

using Nanoseconds = std::chrono::duration<double, std::nano>;

// Returns how often a waiting thread looks before it sleeps (GOMP_SPINCOUNT), where it pauses so
// long between two looks. That takes 12 us, about as long as waking a thread does.
int spin_count(Nanoseconds pause) noexcept;

// Measures how long this processor's instruction for spinning loops pauses: 15 to 60 ns.
Nanoseconds measured_pause() noexcept;

}  // namespace lockstep::launcher
