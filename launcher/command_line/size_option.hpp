// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::launcher {

// Returns the bytes that the value of an option says: "80GiB", "80 GiB" or "80G" as in Slurm (the
// same), or "80GB" in powers of 1000. Throws a config error if it is no size, or one below
// `smallest`.
std::int64_t parse_bytes(const std::string& option, const std::string& word, std::int64_t smallest);

}  // namespace lockstep::launcher
