// SPDX-License-Identifier: Apache-2.0
#include "data/loading/step_pipeline.hpp"

#include <utility>

namespace lockstep::data {

StepPipeline::StepPipeline(StepPlanner& planner, int workers)
    : planner_(planner), steps_ahead_(2 + 2 * static_cast<std::uint64_t>(workers)) {
    // A constructor that throws has no destructor: the threads made so far would be waited for, and
    // they for steps.
    try {
        threads_.emplace_back([this] { read(); });
        for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { build(); });
    } catch (...) {
        stop();
        throw;
    }
}

StepPipeline::~StepPipeline() { stop(); }

void StepPipeline::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    room_.notify_all();
    work_.notify_all();
    threads_.clear();
}

BuiltStep StepPipeline::next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return results_.contains(consumed_); });
    const auto found = results_.find(consumed_);
    if (found->second.failure) std::rethrow_exception(found->second.failure);
    BuiltStep step = std::move(found->second.step);
    results_.erase(found);
    ++consumed_;
    room_.notify_one();
    return step;
}

void StepPipeline::read() {
    for (std::uint64_t number = 0;; ++number) {
        {
            std::unique_lock lock(mutex_);
            room_.wait(lock, [&] { return stopping_ || number - consumed_ < steps_ahead_; });
            if (stopping_) return;
        }
        try {
            Job job{number, planner_.next()};
            const std::lock_guard lock(mutex_);
            jobs_.push_back(std::move(job));
        } catch (...) {
            deliver(number, {{}, std::current_exception()});
            return;
        }
        work_.notify_one();
    }
}

void StepPipeline::build() {
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            work_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        Result result;
        try {
            result.step = planner_.build(job.plan);
        } catch (...) {
            result.failure = std::current_exception();
        }
        deliver(job.number, std::move(result));
    }
}

void StepPipeline::deliver(std::uint64_t number, Result result) {
    {
        const std::lock_guard lock(mutex_);
        results_.emplace(number, std::move(result));
    }
    ready_.notify_one();
}

}  // namespace lockstep::data
