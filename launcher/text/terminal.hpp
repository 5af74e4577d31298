// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// What standard output is, and how wide.
OutputKind output_kind();
int output_columns();

// Throws an io error where standard output does not take what was written.
void flush_output();

}  // namespace lockstep::launcher
