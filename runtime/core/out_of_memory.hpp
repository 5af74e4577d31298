// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// What a user reads where the memory did not suffice, whoever noticed it.
constexpr const char* out_of_memory_text =
    "out of memory; take a smaller batch (-bs, --batch-tokens) or model";

}  // namespace lockstep
