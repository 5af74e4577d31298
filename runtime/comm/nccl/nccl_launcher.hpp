// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::comm {

// Gives NCCL the operations of all groups of a rank on one thread, in the order of the calls. A GPU
// of another rank then gets them in the same order; two groups whose operations start in different
// orders would wait for each other. In between, the thread looks after the groups.
class NcclLauncher {
public:
    // A group of ranks. Only the launcher's thread calls it.
    class Group {
    public:
        // Gives NCCL the oldest of the group's operations that was not given yet.
        virtual void launch_next() noexcept = 0;
        // Looks for errors and late operations.
        virtual void look() noexcept = 0;

    protected:
        ~Group() = default;
    };

    // It looks after idle groups once in each interval.
    explicit NcclLauncher(std::chrono::milliseconds interval);
    // No group is left.
    ~NcclLauncher();
    NcclLauncher(const NcclLauncher&) = delete;
    NcclLauncher& operator=(const NcclLauncher&) = delete;

    void add(Group& group);
    // Launches one operation of the group, after all that were asked for before.
    void launch(Group& group);
    // Forgets the group. When it returns, the thread does not use the group any more.
    void remove(Group& group);

private:
    void run();
    void serve(std::unique_lock<std::mutex>& lock, Group& group, void (Group::*task)() noexcept);
    void look_after_all(std::unique_lock<std::mutex>& lock);

    const std::chrono::milliseconds interval_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::vector<Group*> groups_;
    std::deque<Group*> turns_;  // one for each operation
    Group* served_ = nullptr;
    bool closing_ = false;
    std::thread thread_;  // the last member because the thread uses all the others
};

}  // namespace lockstep::comm
