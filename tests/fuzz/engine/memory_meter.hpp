// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Watches the memory of one input by the sanitizers' hooks. A build without the address sanitizer
// has none of them, and all numbers are 0.
namespace lockstep::fuzz::memory_meter {

// Ends the process with a message when more than `max_bytes` are in use above the level at start().
void install(std::size_t max_bytes);
void start();
// Returns true if the numbers of allocations and releases since start() differ.
bool unbalanced();
// Ends the process with the sanitizer's report if memory is lost.
void check_leaks();

}  // namespace lockstep::fuzz::memory_meter
