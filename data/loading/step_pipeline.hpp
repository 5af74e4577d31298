// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batching/step_planner.hpp"

namespace lockstep::data {

// Plans, reads and builds steps before they are used: one thread plans and reads, `workers` threads
// build. Steps come out in the planner's order.
class StepPipeline {
public:
    // `planner` must outlive the pipeline, and nobody else may use it meanwhile. workers >= 1.
    StepPipeline(StepPlanner& planner, int workers);
    ~StepPipeline();
    StepPipeline(const StepPipeline&) = delete;
    StepPipeline& operator=(const StepPipeline&) = delete;

    // Throws the exception of a thread at this step, and again at later calls.
    BuiltStep next();

private:
    struct Job {
        std::uint64_t number = 0;
        StepPlan plan;
    };
    struct Result {
        BuiltStep step;
        std::exception_ptr failure;
    };

    void stop() noexcept;
    void read();
    void build();
    void deliver(std::uint64_t number, Result result);

    StepPlanner& planner_;
    const std::uint64_t steps_ahead_;
    std::mutex mutex_;
    std::condition_variable room_, work_, ready_;
    bool stopping_ = false;
    std::uint64_t consumed_ = 0;
    std::deque<Job> jobs_;
    std::map<std::uint64_t, Result> results_;
    std::vector<std::jthread> threads_;
};

}  // namespace lockstep::data
