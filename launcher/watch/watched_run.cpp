// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/watched_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>
#include <new>
#include <system_error>
#include <thread>

#include "launcher/text/exception_text.hpp"
#include "launcher/watch/failure_report.hpp"
#include "launcher/watch/slurm_step.hpp"
#include "launcher/watch/thread_stack.hpp"
#include "runtime/comm/watch/watchdog.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

using std::chrono::milliseconds;

constexpr int this_rank_failed = 1;
constexpr int peer_failed = 3;

// Ends the process when the run cannot go on.
class Ending : public comm::WatchListener {
public:
    Ending(std::string folder, Job& job, Log& log, const comm::WatchLimits& limits)
        : folder_(std::move(folder)),
          job_(job),
          log_(log),
          abort_wait_(std::min(1'000, limits.timeout_ms / 20)) {}

    void report(const comm::WatchNews& news) override {
        using namespace std::chrono_literals;
        const int rank = job_.rank_info.rank;
        // The lowest living rank reports when rank 0 is gone, but it does not know that it is the
        // lowest. So the ranks wait in order.
        if (news.reporter == comm::Reporter::nobody_yet)
            std::this_thread::sleep_for(std::min(100ms * (rank - 1), 1000ms));
        reported_ = first_to_report(news);
        if (!reported_) return;
        std::string lines = failure_lines(news);
        while (lines.ends_with('\n')) lines.pop_back();
        log_.error(lines);
    }

    void end(const comm::WatchNews& news) override {
        const bool own =
            news.own == comm::Condition::failed || news.verdict.rank == job_.rank_info.rank;
        if (news.reporter != comm::Reporter::rank_0) abort_job();
        std::cout << std::flush;
        // A process that cannot end by itself would keep srun waiting when no MPI ends it, so the
        // whole step is killed.
        const bool hangs =
            news.verdict.cause != comm::Cause::failed && news.verdict.cause != comm::Cause::lost;
        if (reported_ && hangs && !own && !job_.rank_info.job.empty())
            kill_slurm_step(job_.rank_info.job);
        ::_exit(own ? this_rank_failed : peer_failed);
    }

    void slow(const comm::Straggler& found) override {
        const auto first = found.window.last_step - comm::Pace::window_steps + 1;
        log_.info("rank " + std::to_string(found.rank) + " on " + found.host +
                  " holds up the others: it worked " +
                  std::to_string(static_cast<int>(100 * found.slower)) +
                  " % longer than the median rank in steps " + std::to_string(first) + "-" +
                  std::to_string(found.window.last_step) + ", mostly longer in " + found.phase);
    }

    std::string stack() override {
        constexpr int answer_ms = 500;
        return stack_.take(answer_ms);
    }

private:
    bool first_to_report(const comm::WatchNews& news) const {
        if (folder_.empty())
            return news.reporter == comm::Reporter::this_rank || job_.rank_info.rank == 1;
        const auto json = failure_json(news, std::chrono::system_clock::now());
        return publish_failure(folder_, json) != Published::by_another_rank;
    }

    // MPI then also ends ranks that cannot end by themselves, such as stopped processes.
    void abort_job() {
        std::promise<void> done;
        auto waiting = done.get_future();
        try {
            std::thread([this, done = std::move(done)]() mutable {
                job_.communicator->abort(peer_failed);
                done.set_value();
            }).detach();
        } catch (const std::system_error&) {
            return;  // no memory for a thread; MPI also notices the end of this rank
        }
        waiting.wait_for(abort_wait_);
    }

    std::string folder_;
    Job& job_;
    Log& log_;
    milliseconds abort_wait_;
    bool reported_ = false;
    ThreadStack stack_;
};

comm::WatchLimits limits_of(const RunConfig& config) {
    comm::WatchLimits limits;
    // All ranks must have ended when the time is over.
    limits.timeout_ms = config.comm.timeout_ms / 5 * 4;
    limits.beat_ms = std::clamp(limits.timeout_ms / 20, 50, 1'000);
    return limits;
}

int fail(comm::Watchdog& watchdog, const comm::RankInfo& rank_info, comm::Condition how,
         const std::string& what) {
    if (how == comm::Condition::failed) {
        std::cerr << rank_name(rank_info) + ": " + what + "\n" << std::flush;
    }
    watchdog.fail(how, what);
    return how == comm::Condition::failed ? this_rank_failed : peer_failed;
}

}  // namespace

int run_watched(const RunConfig& config, const std::string& folder, Job& job, Log& log,
                const std::function<void(comm::RankProgress*)>& work) {
    if (job.rank_info.size == 1) return run_started(job.rank_info, [&] { work(nullptr); });
    if (job.rank_info.rank == 0 && !folder.empty()) forget_failure(folder);
    comm::RankProgress progress;
    const comm::WatchLimits limits = limits_of(config);
    Ending ending(folder, job, log, limits);
    comm::WatchPostOptions options;
    options.interface = config.comm.interface;
    options.timeout_ms = limits.timeout_ms;
    comm::Watchdog watchdog(job.rank_info, *job.communicator, progress, options, limits, ending);
    try {
        work(&progress);
        watchdog.leave();
        return 0;
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::config) throw;
        const bool peer = error.kind() == ErrorKind::peer;
        return fail(watchdog, job.rank_info,
                    peer ? comm::Condition::cut_off : comm::Condition::failed, error.what());
    } catch (const std::exception& error) {
        return fail(watchdog, job.rank_info, comm::Condition::failed, exception_text(error));
    }
}

}  // namespace lockstep::launcher
