// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::data {

// What to do with a folder that is there and not empty.
enum class Existing { refuse, overwrite };

}  // namespace lockstep::data
