// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "runtime/comm/watch/watch_verdict.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Keeps ranks.json in a model folder while the run goes on, which says for `lockstep top` and
// `lockstep report --serve` where each rank is. The file is for readers alone: that it cannot be
// written, or that the file system hangs, neither ends nor slows the run.
class RanksFile {
public:
    // An empty folder has no such file.
    RanksFile(std::string folder, const train::RunLimits& limits)
        : folder_(std::move(folder)), limits_(limits) {}
    RanksFile(const RanksFile&) = delete;
    RanksFile& operator=(const RanksFile&) = delete;
    ~RanksFile() { remove(); }

    // Writes the file on a thread of its own, at most once a second.
    void write(const std::vector<comm::Sighting>& ranks) noexcept;
    // Removes what was written.
    void remove() noexcept;

private:
    std::string folder_;
    train::RunLimits limits_;
    std::future<void> writing_;
    std::chrono::steady_clock::time_point next_{};
};

// Removes the file that a run which was killed has left.
void forget_ranks(const std::string& folder) noexcept;

}  // namespace lockstep::launcher
