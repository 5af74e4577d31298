// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher::live {

// From now on the signals that end a program (INT, TERM, and HUP if it is not ignored) and `others`
// do nothing to this thread, and to those that are made later, but can be read.
FileDescriptor watched_signals(std::initializer_list<int> others);

// Returns the number of a signal that has come; 0: none.
int next_signal(const FileDescriptor& signals);

}  // namespace lockstep::launcher::live
