// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_search.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using std::chrono::milliseconds;
using Outcome = JoinAttempt::Outcome;

// This limits each stage of an attempt. Another connection follows, in case the other side has lost
// the first one.
constexpr milliseconds stage_limit(5'000);

// A place is an address with a port. The search has at most one attempt for each place, and keeps
// what the ended ones have shown.
class StoreSearch {
public:
    using Joined = std::optional<JoinAttempt>;

    StoreSearch(std::vector<SocketAddress> places, const Admission& admission, milliseconds timeout,
                milliseconds head_start)
        : places_(std::move(places)),
          admission_(admission),
          head_start_(head_start),
          deadline_(Clock::now() + timeout) {}

    bool over() const { return Clock::now() >= deadline_; }
    Outcome best() const { return best_; }
    const std::string& why() const { return why_; }
    // Tells whether nobody listened at the place whose attempt ended last.
    bool nobody_listened() const { return last_failure_ == ECONNREFUSED; }

    // Starts attempts at all places that have none, one after another.
    Joined try_places() {
        for (std::size_t place = 0; place < places_.size(); ++place) {
            if (!running_.contains(place))
                running_.emplace(place, JoinAttempt(places_[place], admission_));
            if (auto joined = advance_until([&] { return end_of_head_start(place); }))
                return joined;
        }
        return std::nullopt;
    }

    Joined pause(milliseconds length) {
        const auto end = Clock::now() + length;
        return advance_until([&] { return end; });
    }

    void expire_all() {
        for (auto& [place, attempt] : running_) {
            attempt.expire();
            note(attempt);
        }
    }

private:
    // A place that has been silent before gets no head start again.
    Clock::time_point end_of_head_start(std::size_t place) const {
        const auto entry = running_.find(place);
        if (entry == running_.end() || entry->second.outcome() || silent_.contains(place))
            return Clock::time_point::min();
        return entry->second.stage_start() + head_start_;
    }

    // Advances the running attempts, at least once: until one has joined, and returns it; until the
    // time that `end` gives at each turn, or the deadline.
    template <class End>
    Joined advance_until(const End& end) {
        while (true) {
            const auto limit = std::min(end(), deadline_);
            const auto now = Clock::now();
            advance_ready(limit > now ? std::chrono::ceil<milliseconds>(limit - now)
                                      : milliseconds(0));
            if (auto joined = remove_ended()) return joined;
            if (Clock::now() >= std::min(end(), deadline_)) return std::nullopt;
        }
    }

    Joined remove_ended() {
        for (auto entry = running_.begin(); entry != running_.end();) {
            JoinAttempt& attempt = entry->second;
            if (attempt.outcome() == Outcome::joined) return std::move(attempt);
            if (attempt.outcome()) note(attempt);
            entry = attempt.outcome() ? running_.erase(entry) : std::next(entry);
        }
        return std::nullopt;
    }

    // Waits for the first event, and advances the attempts that have one. Returns after half a
    // second at the latest, because a suspension shows in waits that are longer than planned.
    void advance_ready(milliseconds most) {
        std::vector<pollfd> entries;
        for (const auto& [place, attempt] : running_)
            entries.push_back({attempt.descriptor(), attempt.events(), 0});
        const milliseconds wait = std::min(most, milliseconds(500));
        const auto planned = Clock::now() + wait;
        if (::poll(entries.data(), entries.size(), static_cast<int>(wait.count())) < 0)
            std::this_thread::sleep_for(milliseconds(1));
        const auto now = Clock::now();
        do_not_count(now - planned);
        auto entry = entries.begin();
        for (auto& [place, attempt] : running_) {
            const bool ready = (entry++)->revents != 0;
            if (attempt.outcome()) continue;
            if (ready) {
                attempt.advance();
            } else if (now - attempt.stage_start() >= stage_limit) {
                attempt.expire();
                silent_.insert(place);
            }
        }
    }

    void do_not_count(Clock::duration late) {
        if (late < std::chrono::seconds(1)) return;
        deadline_ += late;
        for (auto& [place, attempt] : running_) attempt.postpone_start(late);
    }

    void note(const JoinAttempt& attempt) {
        last_failure_ = attempt.failure();
        if (*attempt.outcome() <= best_) return;
        best_ = *attempt.outcome();
        why_ = attempt.why();
    }

    std::vector<SocketAddress> places_;
    const Admission& admission_;
    milliseconds head_start_;
    Clock::time_point deadline_;
    std::map<std::size_t, JoinAttempt> running_;  // by the index of the place
    std::set<std::size_t> silent_;                // places where a stage took too long
    Outcome best_ = Outcome::nobody;
    std::string why_ = "nobody listens there";
    int last_failure_ = 0;
};

std::vector<SocketAddress> places_of(const std::vector<SocketAddress>& addresses,
                                     const std::vector<int>& ports) {
    std::vector<SocketAddress> places;
    for (const int port : ports) {
        for (const auto& address : addresses) places.push_back(address.with_port(port));
    }
    return places;
}

[[noreturn]] void throw_not_found(const StoreSearch& search, const std::string& where,
                                  int timeout_ms) {
    const bool refused = search.best() == Outcome::refused;
    const bool asks = search.best() <= Outcome::no_store;
    throw Error(ErrorKind::peer,
                "rank 0's store at " + where +
                    (refused ? " did not let this rank in for " : " was not found in ") +
                    std::to_string(timeout_ms / 1000) + " s: " + search.why() +
                    (asks ? "; is rank 0 running, and reachable from " + host_name() + "?" : ""));
}

}  // namespace

JoinAttempt find_store(const std::vector<SocketAddress>& addresses, const std::vector<int>& ports,
                       const Admission& admission, int timeout_ms, milliseconds head_start) {
    constexpr milliseconds longest_pause(200);
    StoreSearch search(places_of(addresses, ports), admission, milliseconds(timeout_ms),
                       head_start);
    milliseconds pause(5);
    do {
        if (auto joined = search.try_places()) return std::move(*joined);
        if (auto joined = search.pause(pause)) return std::move(*joined);
        pause = std::min(2 * pause, longest_pause);
    } while (!search.over());
    search.expire_all();
    throw_not_found(search,
                    addresses.front().text() + " ports " + std::to_string(ports.front()) + "-" +
                        std::to_string(ports.back()),
                    timeout_ms);
}

JoinAttempt find_store_again(const SocketAddress& address, const Admission& admission,
                             int timeout_ms) {
    constexpr milliseconds pause(100);
    StoreSearch search({address}, admission, milliseconds(timeout_ms), usual_head_start);
    do {
        if (auto joined = search.try_places()) return std::move(*joined);
        if (search.nobody_listened()) break;
        if (auto joined = search.pause(pause)) return std::move(*joined);
    } while (!search.over());
    throw Error(ErrorKind::peer, "rank 0's store at " + address.text() + " does not answer");
}

}  // namespace lockstep::comm
