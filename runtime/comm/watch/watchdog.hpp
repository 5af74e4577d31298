// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/comm/watch/stragglers.hpp"
#include "runtime/comm/watch/watch_store.hpp"
#include "runtime/comm/watch/watch_verdict.hpp"

namespace lockstep::comm {

// Who tells the user of it.
enum class Reporter {
    this_rank,
    rank_0,
    nobody_yet,  // rank 0 is gone: whoever is first among those that live
};

// Why the run ends, and what this rank knows of the others: all on the reporter, else less.
struct WatchNews {
    Verdict verdict;
    Reporter reporter = Reporter::rank_0;
    Condition own = Condition::running;
    std::vector<Sighting> ranks;
};

// What becomes of the news; called on the watchdog's thread, each at most once.
class WatchListener {
public:
    virtual ~WatchListener() = default;
    virtual void report(const WatchNews& news) = 0;
    // Other ranks have been told.
    virtual void end(const WatchNews& news) = 0;
    // On rank 0, while the run goes on.
    virtual void slow(const Straggler&) {}
    // Where the main thread is, for a rank that does not move on; may be empty.
    virtual std::string stack() { return {}; }
};

// Publishes where this rank is, from a thread of its own, and on rank 0 judges from what all
// publish whether the run can go on. The connection that carries it is each rank's sign of life.
class Watchdog {
public:
    // Collective. References outlive the watchdog; `limits.timeout_ms` is the time without
    // progress after which the run is given up.
    Watchdog(const RankInfo& place, Communicator& communicator, const RankProgress& whereabouts,
             const WatchPostOptions& options, WatchLimits limits, WatchListener& listener);
    // As leave(), if nothing else has happened.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // This rank cannot go on. Returns when the listener's end() has, or when no verdict was
    // reached in time.
    void fail(Condition how, const std::string& error);
    // This rank's work is done, as is that of all.
    void leave();

private:
    void run();
    void keep();
    void report_to_keeper();
    void bury_rank_0();
    void publish();
    void publish_summary();
    void say_farewell();
    std::vector<Sighting> sightings();
    std::vector<Sighting> remembered();
    Condition condition();
    bool deputy() const noexcept;
    WatchRecord own_record();
    void deliver(const WatchNews& news);
    void wait_for_the_others_to_go();
    bool leaving();

    RankInfo place_;
    Communicator& communicator_;
    const RankProgress& whereabouts_;
    WatchLimits limits_;
    WatchListener& listener_;
    WatchStore post_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool leaving_ = false, ended_ = false;  // under mutex, as the next two
    Condition condition_ = Condition::running;
    std::string error_;

    // The thread's own.
    struct Heard {
        std::string text;
        Clock::time_point at;
    };
    struct Moves {
        std::uint64_t changes = 0, completed = 0;
        bool waiting = false;
        Condition condition = Condition::running;
        bool operator==(const Moves&) const = default;
    };
    std::map<int, Heard> heard_;
    Stragglers stragglers_;
    Moves moves_;
    std::string summary_;
    std::int64_t beat_ = 0;
    Clock::time_point last_answer_, summary_at_, last_move_ = Clock::now();
    std::string stack_;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace lockstep::comm
