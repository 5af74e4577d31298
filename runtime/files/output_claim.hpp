// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep {

// Keeps a path while it lives for one program, whose output gets that name at its end: of two
// programs that write there at the same time one result would be lost. It holds a lock on an empty
// file beside the path, which the system releases when the process ends in any way. Where a file or
// its lock cannot be had, nothing is kept. What a killed program left of an output of this name,
// under a temporary name, is removed; an older folder that it was replacing gets its name back.
class OutputClaim {
public:
    // Throws a config error that names the option, which may be empty, if another program holds the
    // path of a file or of a folder. An empty path, a pipe and a device need no claim.
    OutputClaim(const std::string& option, const std::string& path);
    OutputClaim(const OutputClaim&) = delete;
    OutputClaim& operator=(const OutputClaim&) = delete;
    ~OutputClaim();

private:
    std::string lock_path_;
    FileDescriptor lock_;
};

}  // namespace lockstep
