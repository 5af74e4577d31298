// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/folder_tree.hpp"

#include <filesystem>

#include "tests/support/files.hpp"

namespace lockstep::tests {

namespace fs = std::filesystem;

FolderTree read_tree(const std::string& folder) {
    FolderTree tree;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = fs::relative(entry.path(), folder);
        if (entry.is_directory())
            tree[path] = std::nullopt;
        else
            tree[path] = read_text(entry.path());
    }
    return tree;
}

// A folder comes before its entries, because its path is their prefix.
void write_tree(const FolderTree& tree, const std::string& folder) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& [path, bytes] : tree) {
        if (bytes)
            write_text(folder + "/" + path, *bytes);
        else
            fs::create_directory(folder + "/" + path);
    }
}

}  // namespace lockstep::tests
