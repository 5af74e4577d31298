// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace lockstep::tests {

// Makes a folder of this test's own. The destructor removes it with all its contents.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    // Returns the names in the folder, or in the folder `below` it.
    std::set<std::string> names(const std::string& below = "") const;

private:
    std::string path_;
};

// Returns an empty text if nothing can be read: there is no such file, or its process has ended
// meanwhile.
std::string read_text(const std::string& path);
bool contains(const std::string& text, const std::string& part);
// Writes a file and makes its folder if needed.
void write_text(const std::string& path, std::string_view text);
// Copies the first lines of a file to a new file.
void copy_head(const std::string& from, const std::string& to, int lines);

}  // namespace lockstep::tests
