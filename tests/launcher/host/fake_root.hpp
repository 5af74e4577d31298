// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/files.hpp"

namespace lockstep::tests {

// A /proc and a /sys of the test's own.
struct FakeRoot {
    ScratchFolder folder;
    std::string path = folder / "root";

    void file(const std::string& name, const std::string& text) const {
        const std::string full = path + name;
        std::filesystem::create_directories(std::filesystem::path(full).parent_path());
        write_text(full, text);
    }
};

}  // namespace lockstep::tests
