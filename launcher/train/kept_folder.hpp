// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/folder/folder_lock.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Ends a run that has lost its folder before it writes the step's metrics there.
class KeptFolder : public train::TrainingObserver {
public:
    explicit KeptFolder(const train::FolderLock* lock) : lock_(lock) {}
    void on_step(const train::StepReport&) override {
        if (lock_ != nullptr) lock_->require_kept();
    }

private:
    const train::FolderLock* lock_;
};

}  // namespace lockstep::launcher
