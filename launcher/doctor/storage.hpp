// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "launcher/doctor/facts.hpp"

namespace lockstep::launcher::doctor {

// A file that rank 0 puts beside where the model's folder is or would be, to be seen by the others;
// gone with the object.
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

// Looks at the folder of -mf from rank 0: room, and how fast a file on it grows, synced. A folder
// that does not answer within `timeout_ms` is a problem like any other. `trial` is left empty where
// nothing can be written.
FolderFacts look_at_folder(const std::string& folder, std::int64_t checkpoints_bytes,
                           int timeout_ms, std::shared_ptr<TrialFile>& trial);

// "" where this host sees the trial file with its text; a file system may take a while to show it.
std::string look_for(const std::string& path, const std::string& text, int timeout_ms);

// The folder of --data and this host's part of its shards: every `parts`-th from `part` on. Reads
// for `read_for` altogether, and gives up on a shard that does not answer `timeout_ms` later.
void look_at_data(const std::string& folder, int part, int parts,
                  std::chrono::milliseconds read_for, int timeout_ms, RankObservations& sight);

}  // namespace lockstep::launcher::doctor
