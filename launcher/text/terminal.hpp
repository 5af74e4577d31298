// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// These functions tell whether standard output is a terminal or a file, and how wide it is.
OutputKind output_kind();
int output_columns();

// Throws an io error when standard output cannot take what was written.
void flush_output();

}  // namespace lockstep::launcher
