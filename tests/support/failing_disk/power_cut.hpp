// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/support/failing_disk/folder_tree.hpp"

namespace lockstep::tests {

// Says what a folder holds after a power cut, by the journal that the failing disk kept. A file
// that was never synced is empty, and a synced one has its bytes of the last sync.

// The worst that POSIX allows: names are those of the last sync of each folder.
FolderTree synced_names(const std::string& journal_folder);
// The same, but what was removed is gone, as on a file system that writes removals first.
FolderTree synced_names_without_removed(const std::string& journal_folder);
// The names are those of the end, as on a file system that writes names before data.
FolderTree latest_names(const std::string& journal_folder, const std::string& folder);

}  // namespace lockstep::tests
