// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include "runtime/core/named_range.hpp"

namespace lockstep {

// The range is in NVTX's default domain, which profilers show and filter by name alone. Libraries
// use domains of their own.
NamedRange::NamedRange(const char* name) noexcept { nvtxRangePushA(name); }
NamedRange::~NamedRange() { nvtxRangePop(); }

}  // namespace lockstep
