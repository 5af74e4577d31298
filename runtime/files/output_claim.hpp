// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep {

// Keeps a path while it lives for one program, whose output gets that name at its end: of two
// programs that write there at the same time one result would be lost. It holds a lock on an empty
// file beside the path, which the system releases when the process ends in any way. Where a file or
// its lock cannot be had, nothing is kept.
class OutputClaim {
public:
    // Throws a config error that names the option if another program holds the path. An empty path,
    // or one that names something else than a file, needs no claim.
    OutputClaim(const std::string& option, const std::string& path);
    OutputClaim(const OutputClaim&) = delete;
    OutputClaim& operator=(const OutputClaim&) = delete;
    ~OutputClaim();

private:
    std::string lock_path_;
    FileDescriptor lock_;
};

}  // namespace lockstep
