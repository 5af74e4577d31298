// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "data/text/read_options.hpp"

namespace lockstep::fuzz {

// Reads the bytes as a text file of this format, which may be compressed, and splits its turns into
// tokens.
void read_as_text(std::span<const std::uint8_t> bytes, const data::ReadOptions& options);

}  // namespace lockstep::fuzz
