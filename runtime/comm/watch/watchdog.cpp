// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/watchdog.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using std::chrono::milliseconds;

constexpr const char* verdict_key = "verdict";
constexpr const char* summary_key = "summary";
constexpr const char* keeper_key = "keeper";
constexpr const char* end_of_work = "end";
constexpr char record_end = '\x1e';
constexpr std::size_t max_summary_bytes = 256u << 10;
constexpr milliseconds tick(100);

std::string record_key(int rank) { return "rank/" + std::to_string(rank); }
// A rank that has lost its connection connects again under the next number. The end of an earlier
// connection says nothing then.
std::string connection_key(int rank) { return "connection/" + std::to_string(rank); }
std::string lost_key(int rank, const std::string& connection) {
    return "lost/" + std::to_string(rank) + "/" + connection;
}

milliseconds longest_gap(const WatchLimits& limits) {
    return milliseconds(4 * limits.beat_ms) + 2 * tick;
}

// Rank 0 looks only at its own memory, and at every rank there. Slurm's PMIx ends all ranks soon
// after the death of one, so that a small run looks early enough to report it.
milliseconds look_every(int ranks) { return std::clamp(milliseconds(ranks / 4), tick / 5, tick); }

int ms_since(Clock::time_point then) {
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - then);
    return static_cast<int>(std::clamp<std::int64_t>(passed.count(), 0, 86'400'000));
}

std::int64_t peak_bytes() {
    constexpr std::int64_t kibibyte = 1024;
    rusage usage{};
    return ::getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * kibibyte : 0;
}

// Signals are left to the main thread.
void block_signals() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, own);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

Watchdog::Watchdog(const RankInfo& rank_info, Communicator& communicator,
                   const RankProgress& progress, const WatchPostOptions& options,
                   WatchLimits limits, WatchListener& listener)
    : rank_info_(rank_info),
      communicator_(communicator),
      progress_(progress),
      limits_(limits),
      listener_(listener),
      post_(open_watch_post(rank_info, communicator, options)),
      awake_(longest_gap(limits)) {
    announce();
    thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
    try {
        leave();
    } catch (const std::exception&) {
        // The other ranks will notice that the connection is gone.
    }
}

void Watchdog::announce() {
    const std::string number = std::to_string(++connection_);
    post_.client->set(connection_key(rank_info_.rank), number);
    post_.client->set_will(lost_key(rank_info_.rank, number), "closed");
}

// A network device may reset a connection between two ranks that are well.
bool Watchdog::announce_again() {
    while (!leaving()) {
        try {
            std::this_thread::sleep_for(tick);  // whatever disturbs the connection may go on
            post_.client->reconnect(limits_.timeout_ms / 2);
            announce();
            return true;
        } catch (const std::bad_alloc&) {
            // Memory may be free again a moment later.
        } catch (const Error&) {
            return false;
        }
    }
    return false;
}

void Watchdog::fail(Condition how, const std::string& error) {
    constexpr milliseconds longest(10'000);
    std::unique_lock lock(mutex_);
    condition_ = how;
    error_ = error;
    changed_.notify_all();
    changed_.wait_for(lock, std::min(longest, milliseconds(limits_.timeout_ms)),
                      [this] { return ended_; });
}

void Watchdog::leave() {
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Watchdog::run() {
    block_signals();
    last_answer_ = Clock::now();
    while (true) {
        try {
            rank_info_.rank == 0 ? keep() : report_to_keeper();
            break;
        } catch (const std::bad_alloc&) {
            // The main thread will soon run out of memory too and free what it holds.
            std::this_thread::sleep_for(tick);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::peer && announce_again()) continue;
            if (!leaving()) bury_rank_0();
            break;
        }
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

void Watchdog::bury_rank_0() {
    const bool late = ms_since(last_answer_) >= limits_.timeout_ms / 2;
    const Verdict verdict{0, late ? Cause::silent : Cause::lost};
    deliver({verdict, Reporter::nobody_yet, condition(), remembered()});
}

bool Watchdog::leaving() {
    const std::lock_guard lock(mutex_);
    return leaving_;
}

void Watchdog::keep() {
    auto next_beat = Clock::now();
    Condition told = Condition::running;
    while (!leaving()) {
        const Condition now = condition();
        const bool beats = Clock::now() >= next_beat || now != told;
        if (beats) {
            publish();
            publish_summary();
            post_.client->set(keeper_key, std::to_string(beat_));
            next_beat = Clock::now() + milliseconds(limits_.beat_ms);
            told = now;
        }
        auto ranks = sightings();
        if (const auto verdict = judge(ranks, limits_)) {
            post_.client->set(verdict_key, encode(*verdict));
            return deliver({*verdict, Reporter::this_rank, condition(), std::move(ranks)});
        }
        if (beats) listener_.seen(ranks);
        for (const Straggler& found : stragglers_.look(ranks)) listener_.slow(found);
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, look_every(rank_info_.size),
                          [&] { return leaving_ || condition_ != told; });
    }
    post_.client->set(verdict_key, end_of_work);
    wait_for_the_others_to_go();
}

void Watchdog::report_to_keeper() {
    while (true) {
        publish();
        last_answer_ = Clock::now();
        if (leaving()) return say_farewell();
        if (keeper_stands_still()) return bury_rank_0();
        const auto said = post_.client->find(verdict_key, limits_.beat_ms);
        last_answer_ = Clock::now();
        if (said == end_of_work) return say_farewell();
        const auto verdict = said ? decode_verdict(*said) : std::nullopt;
        if (verdict) return deliver({*verdict, Reporter::rank_0, condition(), {}});
        if (!deputy()) continue;
        if (auto summary = post_.client->find(summary_key, 0)) summary_ = std::move(*summary);
        summary_at_ = Clock::now();
    }
}

// Rank 0's store answers on a thread of its own, also if the thread that judges does not go on.
bool Watchdog::keeper_stands_still() {
    std::string beat = post_.client->find(keeper_key, 0).value_or("");
    if (beat == keeper_beat_) return awake_ms_since(keeper_beat_at_) >= limits_.timeout_ms;
    keeper_beat_ = std::move(beat);
    keeper_beat_at_ = awake_.now();
    return false;
}

void Watchdog::say_farewell() {
    {
        const std::lock_guard lock(mutex_);
        condition_ = Condition::left;
    }
    // The record is the last message: rank 0 ends the store once it has the last records of all
    // ranks.
    post_.client->set_will("", "");
    publish();
}

void Watchdog::publish() { post_.client->set(record_key(rank_info_.rank), encode(own_record())); }

Condition Watchdog::condition() {
    const std::lock_guard lock(mutex_);
    return condition_;
}

WatchRecord Watchdog::own_record() {
    WatchRecord record;
    {
        // A failure is read before the position, which is then the one at which the rank failed.
        const std::lock_guard lock(mutex_);
        record.condition = condition_;
        record.error = error_;
    }
    const RankProgress::Reading reading = progress_.read();
    Activity activity = communicator_.activity();
    const Activity device = progress_.device_activity();
    activity.completed += device.completed;
    if (!device.operation.empty()) activity.operation = device.operation;
    if (device.waited_for) activity.waited_for = true;
    record.host = rank_info_.host;
    record.process = ::getpid();
    record.beat = ++beat_;
    record.step = reading.step;
    record.phase = name(reading.phase);
    record.operation = activity.operation;
    record.waiting = activity.waited_for;
    record.completed = activity.completed;
    record.window = progress_.pace().last();
    record.peak_bytes = peak_bytes();
    const std::uint64_t bytes = activity.waited_for ? 0 : progress_.bytes_moved();
    const Moves moves{reading.changes, activity.completed, bytes, activity.waited_for,
                      record.condition};
    if (std::exchange(moves_, moves) != moves) {
        last_move_ = awake_.now();
        stack_.clear();
    }
    record.still_ms = awake_ms_since(last_move_);
    add_place_of_standstill(record);
    return record;
}

void Watchdog::add_place_of_standstill(WatchRecord& record) {
    const bool still = !record.waiting && record.condition == Condition::running &&
                       record.still_ms >= limits_.timeout_ms / 2;
    if (still) record.file = progress_.file_awaited();
    if (still && stack_.empty()) {
        stack_ = listener_.stack();
        moves_.bytes = progress_.bytes_moved();  // the thread has written its stack
    }
    record.stack = stack_;
}

int Watchdog::awake_ms_since(milliseconds then) {
    return static_cast<int>(std::min<std::int64_t>((awake_.now() - then).count(), 86'400'000));
}

std::vector<Sighting> Watchdog::sightings() {
    const auto records = post_.server->values("rank/");
    const auto lost = post_.server->values("lost/");
    std::vector<Sighting> ranks;
    for (int rank = 0; rank < rank_info_.size; ++rank) {
        const auto found = records.find(record_key(rank));
        Heard& heard = heard_[rank];
        if (found != records.end() && found->second != heard.text) {
            heard.text = found->second;
            heard.at = awake_.now();
        }
        ranks.push_back(sighting_of(rank, lost));
    }
    return ranks;
}

// A rank may come back over a network that is disturbed for some seconds. But where a rank's end
// has broken its connection, mpirun asks the others to end, and kills them a second later.
int Watchdog::patience_ms(const std::string& end) const {
    constexpr int asked_to_end_ms = 300;
    const int beats = end == StoreServer::unacknowledged ? 2 : 10;
    const int usual_ms = std::min(limits_.timeout_ms / 2, beats * limits_.beat_ms);
    return listener_.asked_to_end() ? std::min(usual_ms, asked_to_end_ms) : usual_ms;
}

// A connection that was closed says that the process has ended. One that broke may come back.
Sighting Watchdog::sighting_of(int rank, const std::map<std::string, std::string>& lost) {
    Heard& heard = heard_[rank];
    Sighting sighting{decode_watch_record(heard.text), awake_ms_since(heard.at)};
    if (lost.empty()) return sighting;
    const auto numbers = post_.server->values(connection_key(rank));
    const auto number = numbers.find(connection_key(rank));
    const auto end = lost.find(lost_key(rank, number == numbers.end() ? "1" : number->second));
    const bool silent = end != lost.end() && end->second == StoreServer::unacknowledged;
    const bool broken = silent || (end != lost.end() && end->second == StoreServer::broken);
    if (!broken) heard.broken_at = milliseconds(-1);
    if (broken && heard.broken_at < milliseconds(0)) heard.broken_at = awake_.now();
    if (broken || (number != numbers.end() && number->second != heard.connection)) {
        heard.reset_at = awake_.now();
        heard.connection = number == numbers.end() ? "1" : number->second;
    }
    const bool over = broken && awake_ms_since(heard.broken_at) >= patience_ms(end->second);
    sighting.unreachable = over && silent;
    sighting.broken = !over && heard.reset_at >= milliseconds(0) &&
                      awake_ms_since(heard.reset_at) < limits_.timeout_ms / 2;
    sighting.lost = end != lost.end() && !sighting.unreachable && (over || !broken);
    return sighting;
}

// The lowest ranks keep a summary of all ranks in case rank 0 is lost.
bool Watchdog::deputy() const noexcept {
    constexpr int deputies = 4;
    return rank_info_.rank <= deputies;
}

void Watchdog::publish_summary() {
    std::string summary;
    for (const Sighting& rank : sightings()) {
        if (rank.record) {
            WatchRecord record = *rank.record;
            record.stack.clear();
            record.still_ms += rank.silent_ms;
            summary += encode(record);
        }
        summary += record_end;
    }
    if (summary.size() <= max_summary_bytes) post_.client->set(summary_key, summary);
}

// Reads the last summary that rank 0 published.
std::vector<Sighting> Watchdog::remembered() {
    std::vector<Sighting> ranks(static_cast<std::size_t>(rank_info_.size));
    std::string_view rest = summary_;
    for (Sighting& rank : ranks) {
        rank.silent_ms = ms_since(summary_at_);
        const auto end = rest.find(record_end);
        if (end == std::string_view::npos) continue;
        rank.record = decode_watch_record(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    ranks[static_cast<std::size_t>(rank_info_.rank)] = {own_record(), 0, false};
    return ranks;
}

void Watchdog::deliver(const WatchNews& news) {
    if (news.reporter != Reporter::rank_0) listener_.report(news);
    if (news.reporter == Reporter::this_rank) wait_for_the_others_to_go();
    listener_.end(news);
}

// The other ranks still read the verdict from this rank's server.
void Watchdog::wait_for_the_others_to_go() {
    const int longest_ms = std::min(limits_.timeout_ms / 8, 2'000);
    const auto gone = [](const Sighting& rank) {
        return rank.lost || (rank.record && rank.record->condition == Condition::left);
    };
    for (const auto begin = Clock::now(); ms_since(begin) < longest_ms;) {
        auto others = sightings();
        others.front().lost = true;
        if (std::all_of(others.begin(), others.end(), gone)) return;
        std::this_thread::sleep_for(milliseconds(1));
    }
}

}  // namespace lockstep::comm
