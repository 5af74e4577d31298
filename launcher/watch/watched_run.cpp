// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/watched_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

#include "launcher/text/exception_text.hpp"
#include "launcher/watch/failure_report.hpp"
#include "launcher/watch/on_thread.hpp"
#include "launcher/watch/ranks_file.hpp"
#include "launcher/watch/slurm_step.hpp"
#include "launcher/watch/thread_stack.hpp"
#include "runtime/comm/watch/watchdog.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

using std::chrono::milliseconds;

constexpr int this_rank_failed = 1;
constexpr int peer_failed = 3;

constexpr milliseconds short_wait(500);
constexpr milliseconds long_wait(2'000);
constexpr int slurm_patience_ms = 10'000;  // at least

// Ends the process when the run cannot go on. Nothing that it does may wait for ever.
class Ending : public comm::WatchListener {
public:
    Ending(std::string folder, const WatchedRank& self, Log& log, const comm::WatchLimits& limits,
           const train::RunLimits& run_limits)
        : folder_(std::move(folder)),
          self_(self),
          log_(log),
          ranks_(folder_, run_limits),
          abort_wait_(std::min(1'000, limits.timeout_ms / 20)),
          slurm_patience_(std::max(slurm_patience_ms, limits.timeout_ms / 4)) {}

    void report(const comm::WatchNews& news) override {
        using namespace std::chrono_literals;
        const int rank = self_.rank_info.rank;
        // The lowest living rank reports when rank 0 is gone, but it does not know that it is the
        // lowest. So the ranks wait in order.
        if (news.reporter == comm::Reporter::nobody_yet)
            std::this_thread::sleep_for(std::min(100ms * (rank - 1), 1000ms));
        auto published = publish(news);
        const bool answered = published.wait_for(short_wait) != std::future_status::timeout;
        const bool others_know =
            !*wrote_ && (answered ? published.get() == Published::by_another_rank : !speaks(news));
        reported_ = !others_know;
        if (!reported_) return;
        std::string lines = failure_lines(news);
        while (lines.ends_with('\n')) lines.pop_back();
        // Where memory is missing, the watchdog calls again until the lines are told.
        auto told = on_thread([this, lines] { log_.error(lines); });
        if (told.wait_for(short_wait) != std::future_status::timeout) told.get();
        if (!answered) published.wait_for(long_wait);
    }

    void end(const comm::WatchNews& news) override {
        const bool own =
            news.own == comm::Condition::failed || news.verdict.rank == self_.rank_info.rank;
        if (news.reporter != comm::Reporter::rank_0) abort_job();
        within(short_wait, [] { std::cout << std::flush; });
        ranks_.remove();
        // A process that cannot end by itself would keep srun waiting when no MPI ends it, so the
        // whole step is killed.
        const bool hangs =
            news.verdict.cause != comm::Cause::failed && news.verdict.cause != comm::Cause::lost;
        if (reported_ && hangs && !own && !self_.rank_info.job.empty())
            kill_slurm_step(self_.rank_info.job, slurm_patience_);
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

    void seen(const std::vector<comm::Sighting>& ranks) override { ranks_.write(ranks); }

    bool asked_to_end() override { return self_.asked_to_end != nullptr && *self_.asked_to_end; }

    std::string stack() override {
        constexpr int answer_ms = 500;
        return stack_.take(answer_ms);
    }

private:
    // Tells whether this rank reports where the ranks cannot ask the folder who is the first.
    bool speaks(const comm::WatchNews& news) const {
        return news.reporter == comm::Reporter::this_rank || self_.rank_info.rank == 1 ||
               self_.rank_info.local_rank == 0;
    }

    std::future<Published> publish(const comm::WatchNews& news) const {
        const auto json = failure_json(news, std::chrono::system_clock::now());
        return on_thread([this, json, speaks = speaks(news), wrote = wrote_] {
            const Published published =
                folder_.empty() ? Published::not_writable : publish_failure(folder_, json);
            // The report says more, and rank 0 may be gone without removing its file.
            if (published == Published::here) {
                *wrote = true;
                forget_ranks(folder_);
            }
            if (published != Published::not_writable) return published;
            return speaks ? Published::here : Published::by_another_rank;
        });
    }

    // MPI then also ends ranks that cannot end by themselves, such as stopped processes.
    void abort_job() {
        // Without memory for a thread nothing is done: MPI also notices the end of this rank.
        on_thread([this] { self_.communicator.abort(peer_failed); }).wait_for(abort_wait_);
    }

    std::string folder_;
    WatchedRank self_;
    Log& log_;
    RanksFile ranks_;
    // Whether failure.json is this rank's.
    std::shared_ptr<std::atomic<bool>> wrote_ = std::make_shared<std::atomic<bool>>(false);
    milliseconds abort_wait_;
    milliseconds slurm_patience_;  // the job still ends by --timeout, unless that is short
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
        within(short_wait, [line = rank_name(rank_info) + ": " + what + "\n"] {
            std::cerr << line << std::flush;
        });
    }
    watchdog.fail(how, what);
    return how == comm::Condition::failed ? this_rank_failed : peer_failed;
}

}  // namespace

int run_watched(const RunConfig& config, const std::string& folder, const WatchedRank& self,
                Log& log, const std::function<void(comm::RankProgress*)>& work) {
    if (self.rank_info.rank == 0 && !folder.empty())
        within(long_wait, [folder] {
            forget_failure(folder);
            forget_ranks(folder);
        });
    if (self.rank_info.size == 1) return run_started(self.rank_info, [&] { work(nullptr); });
    comm::RankProgress progress;
    const comm::WatchLimits limits = limits_of(config);
    Ending ending(folder, self, log, limits, config.train.limits);
    comm::WatchPostOptions options;
    options.interface = config.comm.interface;
    options.timeout_ms = limits.timeout_ms;
    comm::Watchdog watchdog(self.rank_info, self.communicator, progress, options, limits, ending);
    // The watchdog ends operations that hang. It knows whether the rank that others wait for makes
    // progress, which the operations do not know.
    self.communicator.set_timeout(comm::unlimited_ms);
    try {
        work(&progress);
        watchdog.leave();
        return 0;
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::config) throw;
        const bool peer = error.kind() == ErrorKind::peer;
        return fail(watchdog, self.rank_info,
                    peer ? comm::Condition::cut_off : comm::Condition::failed, error.what());
    } catch (const std::exception& error) {
        return fail(watchdog, self.rank_info, comm::Condition::failed, exception_text(error));
    }
}

}  // namespace lockstep::launcher
