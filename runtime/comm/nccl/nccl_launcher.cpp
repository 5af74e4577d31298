// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/nccl_launcher.hpp"

#include <algorithm>

namespace lockstep::comm {

NcclLauncher::NcclLauncher(std::chrono::milliseconds interval)
    : interval_(interval), thread_([this] { run(); }) {}

NcclLauncher::~NcclLauncher() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void NcclLauncher::add(Group& group) {
    const std::lock_guard lock(mutex_);
    groups_.push_back(&group);
}

void NcclLauncher::launch(Group& group) {
    {
        const std::lock_guard lock(mutex_);
        turns_.push_back(&group);
    }
    changed_.notify_all();
}

void NcclLauncher::remove(Group& group) {
    std::unique_lock lock(mutex_);
    std::erase(groups_, &group);
    std::erase(turns_, &group);
    changed_.wait(lock, [&] { return served_ != &group; });
}

void NcclLauncher::serve(std::unique_lock<std::mutex>& lock, Group& group,
                         void (Group::*task)() noexcept) {
    served_ = &group;
    lock.unlock();
    (group.*task)();
    lock.lock();
    served_ = nullptr;
    changed_.notify_all();
}

// Groups may come and go while one of them is served.
void NcclLauncher::look_after_all(std::unique_lock<std::mutex>& lock) {
    const std::vector<Group*> all = groups_;
    for (Group* group : all)
        if (std::ranges::find(groups_, group) != groups_.end()) serve(lock, *group, &Group::look);
}

void NcclLauncher::run() {
    std::unique_lock lock(mutex_);
    while (!closing_) {
        if (turns_.empty()) look_after_all(lock);
        changed_.wait_for(lock, interval_, [this] { return closing_ || !turns_.empty(); });
        while (!turns_.empty()) {
            Group* const next = turns_.front();
            turns_.pop_front();
            serve(lock, *next, &Group::launch_next);
        }
    }
}

}  // namespace lockstep::comm
