// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/bpe/bpe_model.hpp"

namespace lockstep::data {

// Keeps the workspaces of a tokenizer, one for each thread that encodes at the same time.
class WorkspacePool {
public:
    // Holds a workspace until it goes out of scope.
    class Lease {
    public:
        explicit Lease(WorkspacePool& pool) : pool_(pool), workspace_(pool.take()) {}
        ~Lease() { pool_.give_back(std::move(workspace_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        BpeWorkspace& operator*() const noexcept { return *workspace_; }

    private:
        WorkspacePool& pool_;
        std::unique_ptr<BpeWorkspace> workspace_;
    };

private:
    std::unique_ptr<BpeWorkspace> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.reserve(++made_);  // giving back must not need memory
            return std::make_unique<BpeWorkspace>();
        }
        auto workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
    }
    void give_back(std::unique_ptr<BpeWorkspace> workspace) noexcept {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(workspace));
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<BpeWorkspace>> free_;
    std::size_t made_ = 0;
};

}  // namespace lockstep::data
