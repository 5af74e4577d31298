// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/storage/existing.hpp"

namespace lockstep::data {

// A directory that appears complete or not at all: it is filled under another name beside its own,
// flushed to disk and renamed. What was not committed is removed.
class OutputDirectory {
public:
    // A symbolic link is followed. Throws a config error when `path` is in use or cannot be made;
    // with Existing::overwrite, when it holds anything that prepare did not write.
    OutputDirectory(const std::string& path, Existing existing);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    // Where to write.
    const std::string& partial() const noexcept { return partial_; }
    void commit();

private:
    std::string path_, partial_;
    Existing existing_;
};

}  // namespace lockstep::data
