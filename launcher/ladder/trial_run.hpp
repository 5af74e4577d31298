// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/ladder/climb.hpp"

namespace lockstep::launcher::ladder {

// Manages the folders that the rungs train into. They are below the folder that the user named,
// which keeps them, or below a temporary one. A temporary run is removed as soon as it is measured,
// and the temporary folder with this object.
class RunFolders {
public:
    // Throws a config error when the named folder is not empty.
    explicit RunFolders(const std::string& kept);
    ~RunFolders();
    RunFolders(const RunFolders&) = delete;
    RunFolders& operator=(const RunFolders&) = delete;

    std::string path() const { return path_.string(); }
    std::string of(const std::string& name) const { return (path_ / name).string(); }
    void measured(const std::string& name) const;

private:
    enum class Life { kept, temporary };

    Life life_;
    std::filesystem::path path_;
};

// Starts this program anew with the words of `command`, which starts its ranks as separate
// processes. They train into `folder`; their output goes to its output.log.
Attempt run_trial(const std::vector<std::string>& command, const std::string& folder);

}  // namespace lockstep::launcher::ladder
