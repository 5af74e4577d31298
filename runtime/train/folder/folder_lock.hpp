// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/train/folder/lock_owner.hpp"

namespace lockstep::train {

// The owner of a lock writes a beat into it every `beat`. A run that cannot ask the owner reads the
// lock every `look`, and takes it over after it has found it unchanged for `silent`. Slurm's word
// that the owner has ended makes `silent_requeued` enough.
struct LockTimes {
    std::chrono::milliseconds beat{15'000}, look{1'000}, silent{120'000}, silent_requeued{45'000};
};

// Tells a run that must wait for a lock what to do meanwhile.
struct LockWaiting {
    std::function<void(const std::string& line)> say;
    std::function<bool()> stopped;  // true: stop waiting
};

// Makes this process the only writer of a model folder, by the file run.lock in it. The lock holds
// between hosts that share the folder, also over NFS: link() gives a name to one of several callers
// only. The lock is taken over only from a process that is surely gone. No clocks of two hosts are
// compared: an owner that cannot be asked is gone if its lock does not change while this process
// looks at it. A process that was only stopped finds the loss when it goes on.
//
//   FolderLock lock(folder, this_process(), waiting);  // throws kind config when another run has
//   it
//   ... write a checkpoint ...
//   lock.confirm();                // throws kind io when the folder is no longer this run's
//   ... rename the checkpoint ...
class FolderLock {
public:
    // Makes the folder if needed. Throws kind config, naming the run that has the folder, and kind
    // io when the folder cannot be written. It may wait; see LockTimes. Removes what killed starts
    // left beside the lock.
    FolderLock(const std::string& folder, const LockOwner& self, const LockWaiting& waiting,
               const LockTimes& times = {});
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    // Removes the lock if it is still this run's, and the folders that the constructor made if they
    // are empty.
    ~FolderLock();

    // Throws kind io when the lock is gone or another run's. It is called before each commit.
    void confirm() const;
    // Does so when a beat has found the loss, and reads no file.
    void require_kept() const;

private:
    void beat_until(std::stop_token stop);

    std::string folder_, path_;
    LockOwner self_;
    LockTimes times_;
    int made_folders_;
    std::atomic<bool> lost_ = false;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread heart_;
};

}  // namespace lockstep::train
