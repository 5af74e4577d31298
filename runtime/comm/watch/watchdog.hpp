// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/watch/awake_clock.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/comm/watch/stragglers.hpp"
#include "runtime/comm/watch/watch_store.hpp"
#include "runtime/comm/watch/watch_verdict.hpp"

namespace lockstep::comm {

// Names the rank that reports the end of the run to the user.
enum class Reporter {
    this_rank,
    rank_0,
    nobody_yet,  // rank 0 is gone: the first of the living ranks reports
};

// Holds the reason why the run ends and the state of the ranks. The reporter knows all of it, the
// others less.
struct WatchNews {
    Verdict verdict;
    Reporter reporter = Reporter::rank_0;
    Condition own = Condition::running;
    std::vector<Sighting> ranks;
};

// Receives the watchdog's findings, on the watchdog's thread. report() and end() are called at most
// once.
class WatchListener {
public:
    virtual ~WatchListener() = default;
    virtual void report(const WatchNews& news) = 0;
    // The watchdog calls it after the other ranks have been told.
    virtual void end(const WatchNews& news) = 0;
    // The watchdog calls it on rank 0 while the run goes on.
    virtual void slow(const Straggler&) {}
    // The watchdog calls it on rank 0 with each of its own records. It must not wait.
    virtual void seen(const std::vector<Sighting>&) {}
    // Tells whether this process was asked to end; whoever asked may soon end it by force.
    virtual bool asked_to_end() { return false; }
    // Returns the stack of the main thread of a rank that makes no progress; may be empty.
    virtual std::string stack() { return {}; }
};

// Publishes this rank's position from a thread of its own. On rank 0 it also judges from all ranks'
// records whether the run can go on. The connection that carries the records shows that the rank is
// alive.
class Watchdog {
public:
    // The call is collective. The references must outlive the watchdog. The run is given up after
    // `limits.timeout_ms` without progress.
    Watchdog(const RankInfo& rank_info, Communicator& communicator, const RankProgress& progress,
             const WatchPostOptions& options, WatchLimits limits, WatchListener& listener);
    // Calls leave(). After an earlier leave() or fail() it only ends the thread.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Reports that this rank cannot go on. Returns after the listener's end() has returned, or when
    // no verdict was reached in time.
    void fail(Condition how, const std::string& error);
    // Reports that this rank's work is done, as is that of all ranks.
    void leave();

private:
    void run();
    void keep();
    void report_to_keeper();
    void announce();
    bool announce_again();
    bool keeper_stands_still();
    void bury_rank_0();
    void publish();
    void publish_summary();
    void say_farewell();
    std::vector<Sighting> sightings();
    int patience_ms(const std::string& end) const;
    Sighting sighting_of(int rank, const std::map<std::string, std::string>& lost);
    std::vector<Sighting> remembered();
    Condition condition();
    bool deputy() const noexcept;
    WatchRecord own_record();
    void add_place_of_standstill(WatchRecord& record);
    int awake_ms_since(std::chrono::milliseconds then);
    void deliver(const WatchNews& news);
    void wait_for_the_others_to_go();
    bool leaving();

    RankInfo rank_info_;
    Communicator& communicator_;
    const RankProgress& progress_;
    WatchLimits limits_;
    WatchListener& listener_;
    WatchStore post_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool leaving_ = false, ended_ = false;  // the mutex guards them and the next two
    Condition condition_ = Condition::running;
    std::string error_;

    // Only the thread uses the members below.
    struct Heard {
        std::string text;
        std::string connection = "1";  // its number, as the rank tells it
        // These are times of awake_. -1: the connection is not broken, or never was.
        std::chrono::milliseconds at{0}, broken_at{-1}, reset_at{-1};
    };
    struct Moves {
        std::uint64_t changes = 0, completed = 0;
        std::uint64_t bytes = 0;
        bool waiting = false;
        Condition condition = Condition::running;
        bool operator==(const Moves&) const = default;
    };
    std::map<int, Heard> heard_;
    Stragglers stragglers_;
    Moves moves_;
    std::string summary_;
    std::int64_t beat_ = 0;
    int connection_ = 0;  // number of the connection to the store
    AwakeClock awake_;
    std::string keeper_beat_;
    std::chrono::milliseconds last_move_{0}, keeper_beat_at_{0};  // of awake_
    Clock::time_point last_answer_, summary_at_;
    std::string stack_;
    std::thread thread_;  // the last member because the thread uses all the others
};

}  // namespace lockstep::comm
