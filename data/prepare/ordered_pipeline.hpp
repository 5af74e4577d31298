// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::data {

// Reads items in order, works on them in several threads, and hands the results on in the order of
// reading.
//  bool read(Item&)               one call at a time, on any worker; false at the end
//  Result work(int worker, Item&) several calls at once
//  void write(Result)             on the calling thread
// At most `workers` + 2 results wait. The first exception in the order of reading stops everything
// and is thrown; a later one cannot overtake it.
template <class Item, class Result>
class OrderedPipeline {
public:
    template <class Read, class Work, class Write>
    static void run(int workers, Read&& read, Work&& work, Write&& write) {
        OrderedPipeline pipeline(static_cast<std::uint64_t>(workers) + 2);
        std::vector<std::jthread> threads;
        const Stop stop(pipeline);  // its destructor runs before the threads are joined
        for (int worker = 0; worker < workers; ++worker)
            threads.emplace_back([&, worker] { pipeline.serve(worker, read, work); });
        while (std::optional<Result> result = pipeline.next()) write(std::move(*result));
        pipeline.stop();
    }

private:
    struct Outcome {
        std::optional<Result> result;  // neither result nor error: end of the input
        std::exception_ptr error;
    };

    struct Stop {
        explicit Stop(OrderedPipeline& p) : pipeline(p) {}
        ~Stop() { pipeline.stop(); }
        OrderedPipeline& pipeline;
    };

    explicit OrderedPipeline(std::uint64_t window) : window_(window) {}

    template <class Read, class Work>
    void serve(int worker, Read& read, Work& work) {
        for (;;) {
            std::uint64_t number = 0;
            Outcome outcome;
            try {
                Item item;
                bool more = false;
                {
                    const std::lock_guard lock(reading_);
                    if (ended_) return;
                    number = read_++;
                    ended_ = true;  // also if read throws
                    more = read(item);
                    ended_ = !more;
                }
                if (more) outcome.result.emplace(work(worker, item));
            } catch (...) {
                outcome.error = std::current_exception();
            }
            if (!deliver(number, std::move(outcome))) return;
        }
    }

    bool deliver(std::uint64_t number, Outcome outcome) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopped_ || number < written_ + window_; });
        if (stopped_) return false;
        waiting_.emplace(number, std::move(outcome));
        ready_.notify_one();
        return true;
    }

    std::optional<Result> next() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return waiting_.contains(written_); });
        Outcome outcome = std::move(waiting_.extract(written_).mapped());
        ++written_;
        room_.notify_all();
        if (outcome.error) std::rethrow_exception(outcome.error);
        return std::move(outcome.result);
    }

    void stop() noexcept {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        room_.notify_all();
    }

    const std::uint64_t window_;
    std::mutex reading_;
    std::uint64_t read_ = 0;
    bool ended_ = false;

    std::mutex mutex_;
    std::condition_variable room_, ready_;
    std::map<std::uint64_t, Outcome> waiting_;
    std::uint64_t written_ = 0;
    bool stopped_ = false;
};

}  // namespace lockstep::data
