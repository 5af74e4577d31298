// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/ladder/climb.hpp"

namespace lockstep::launcher::ladder {

// Where the rungs train: below the folder that the user named, which keeps them, or below one that
// goes with the object, each of whose runs goes as soon as it is measured.
class RunFolders {
public:
    // Throws a config error where the folder that was named holds anything.
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

// Starts this program anew with the words of `command`, as ranks of their own processes, which
// train into `folder`; what they print goes to its output.log.
Attempt run_trial(const std::vector<std::string>& command, const std::string& folder);

}  // namespace lockstep::launcher::ladder
