// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/named_range.hpp"

namespace lockstep {

NamedRange::NamedRange(const char* /*name*/) noexcept {}
NamedRange::~NamedRange() = default;

}  // namespace lockstep
