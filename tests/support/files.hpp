// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace lockstep::tests {

// A folder of this test's own, removed with everything in it at the end.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    // What lies in it or in a folder below.
    std::set<std::string> names(const std::string& below = "") const;

private:
    std::string path_;
};

// Empty where there is nothing to read: no such file, or of a process that has ended meanwhile.
std::string read_text(const std::string& path);
// Makes the file's folder, too.
void write_text(const std::string& path, std::string_view text);
// The first lines of a file, as a new file.
void copy_head(const std::string& from, const std::string& to, int lines);

}  // namespace lockstep::tests
