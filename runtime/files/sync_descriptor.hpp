// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Returns when what the open file or folder holds is on disk. Does nothing on a file system that
// cannot sync it. Throws SystemFailure, which names `path`.
void sync_descriptor(int descriptor, const std::string& path);

}  // namespace lockstep
