// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace lockstep::tests {

// Holds a folder with all that is below it: the relative path of each entry, and its bytes if it is
// a file.
using FolderTree = std::map<std::string, std::optional<std::string>>;

FolderTree read_tree(const std::string& folder);
// Makes the folder hold exactly this tree.
void write_tree(const FolderTree& tree, const std::string& folder);

}  // namespace lockstep::tests
