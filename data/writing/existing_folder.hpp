// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::data {

// Decides if an existing folder that is not empty is an error or is replaced.
enum class Existing { refuse, overwrite };

}  // namespace lockstep::data
