// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Represents a file that rank 0 writes next to the model's folder (present or future) to test
// whether the others see it. The destructor removes it.
class TrialFile {
public:
    TrialFile(std::string path, std::string text);
    ~TrialFile();
    TrialFile(const TrialFile&) = delete;
    TrialFile& operator=(const TrialFile&) = delete;

    const std::string& path() const noexcept { return path_; }
    const std::string& text() const noexcept { return text_; }

private:
    std::string path_, text_;
};

// Examines the folder of -mf on rank 0: its free space and how fast a synced file in it grows. A
// folder that does not answer within `timeout_ms` is reported as a problem like any other. `trial`
// stays empty when nothing can be written.
FolderFacts look_at_folder(const std::string& folder, std::int64_t checkpoints_bytes,
                           int timeout_ms, std::shared_ptr<TrialFile>& trial);

// Returns an empty string when this host sees the trial file with its text, otherwise the problem.
// Waits a while because a file system may show the file late.
std::string look_for(const std::string& path, const std::string& text, int timeout_ms);

}  // namespace lockstep::launcher::doctor
