// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/watch_verdict.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "runtime/comm/watch/rank_progress.hpp"

using namespace lockstep::comm;

namespace {

constexpr WatchLimits limits{10'000, 500};

Sighting waiting(std::int64_t still_ms) {
    Sighting rank;
    rank.record = WatchRecord();
    rank.record->host = "node1";
    rank.record->phase = name(Phase::computing);
    rank.record->operation = "all_reduce \"bucket 3\"";
    rank.record->waiting = true;
    rank.record->completed = 40;
    rank.record->still_ms = still_ms;
    return rank;
}

Sighting at(Phase phase, std::int64_t still_ms) {
    Sighting rank = waiting(still_ms);
    rank.record->waiting = false;
    rank.record->phase = name(phase);
    return rank;
}

Sighting in(Condition condition, std::int64_t still_ms = 0) {
    Sighting rank = at(Phase::computing, still_ms);
    rank.record->condition = condition;
    return rank;
}

std::string verdict(const std::vector<Sighting>& ranks) {
    const auto found = judge(ranks, limits);
    return found ? encode(*found) : "none";
}

}  // namespace

TEST_CASE("a run in which ranks wait for less than the time-out goes on") {
    CHECK(verdict({waiting(9'000), at(Phase::computing, 9'000)}) == "none");
    CHECK(verdict({at(Phase::start, 0), {}}) == "none");
}

TEST_CASE("long computing, validating and saving is no failure while nobody waits") {
    for (const Phase phase : {Phase::computing, Phase::validation, Phase::checkpoint}) {
        CHECK(verdict({at(phase, 60'000), at(phase, 60'000)}) == "none");
    }
}

TEST_CASE("the rank that does not come to where the others wait is named, not one that waits") {
    CHECK(verdict({waiting(10'000), at(Phase::data, 12'000), waiting(9'000)}) == "1 stuck");
    CHECK(verdict({at(Phase::optimizer, 12'000), waiting(10'000)}) == "0 stuck");
}

TEST_CASE("ranks may wait for any time for one that makes progress") {
    for (const Phase phase : {Phase::start, Phase::validation, Phase::checkpoint}) {
        CHECK(verdict({at(phase, 9'000), waiting(60'000), waiting(60'000)}) == "none");
        CHECK(verdict({at(phase, 10'000), waiting(60'000), waiting(60'000)}) == "0 stuck");
    }
    CHECK(verdict({waiting(0), waiting(60'000)}) == "none");  // it has just come
    CHECK(verdict({at(Phase::checkpoint, 0), waiting(60'000), at(Phase::optimizer, 11'000)}) ==
          "2 stuck");
}

TEST_CASE("a rank that stands still is named before one whose heartbeat comes late") {
    Sighting late = waiting(8'000);
    late.silent_ms = 2'500;
    CHECK(verdict({at(Phase::checkpoint, 10'000), waiting(10'000), late}) == "0 stuck");
}

TEST_CASE("a connection that was reset decides where the collectives fail as well") {
    Sighting reset = waiting(0);
    reset.broken = true;
    reset.silent_ms = 3'000;
    CHECK(verdict({waiting(0), reset, reset}) == "none");
    CHECK(verdict({in(Condition::cut_off, 3'000), waiting(0), reset}) == "2 lost");
    CHECK(verdict({in(Condition::cut_off, 3'000), reset}) == "1 lost");
    CHECK(verdict({in(Condition::cut_off, 3'000), reset, reset}) == "0 lost");
}

TEST_CASE("a host that acknowledges nothing is silent at once") {
    Sighting off = waiting(0);
    off.silent_ms = 3'000;
    off.unreachable = true;
    CHECK(verdict({waiting(0), off, waiting(0)}) == "1 silent");
    CHECK(verdict({waiting(0), off, off}) == "0 silent");
}

TEST_CASE("data that never comes is a failure though nobody waits") {
    CHECK(verdict({at(Phase::computing, 0), at(Phase::data, 10'000)}) == "1 stuck");
}

TEST_CASE("a stopped process is named by its silence, wherever it was") {
    Sighting stopped = waiting(0);
    stopped.silent_ms = 10'000;
    CHECK(verdict({waiting(9'900), waiting(9'900), stopped}) == "2 silent");
}

TEST_CASE("where rank 0 hears nobody it is rank 0 that is cut off") {
    Sighting unheard = waiting(0);
    unheard.silent_ms = 10'000;
    CHECK(verdict({waiting(9'900), unheard, unheard}) == "0 silent");
    CHECK(verdict({waiting(9'900), unheard}) == "1 silent");
}

TEST_CASE("an error, then a lost connection, decide at once; an error about a peer does not") {
    Sighting lost = waiting(0);
    lost.lost = true;
    CHECK(verdict({waiting(10), lost, in(Condition::failed)}) == "2 failed");
    CHECK(verdict({in(Condition::cut_off), lost, waiting(0)}) == "1 lost");
    CHECK(verdict({in(Condition::cut_off), waiting(0)}) == "none");
}

TEST_CASE("where only peers' errors tell, the one that shows no sign is named") {
    Sighting silent = waiting(0);
    silent.silent_ms = 3'000;
    CHECK(verdict({in(Condition::cut_off, 3'000), silent}) == "1 silent");
}

TEST_CASE("where all wait for one another the one that is furthest behind is named") {
    Sighting behind = waiting(11'000);
    behind.record->completed = 39;
    CHECK(verdict({waiting(11'000), behind}) == "1 unknown");
}

TEST_CASE("a rank that has left is no reason to end") {
    Sighting left = in(Condition::left);
    left.silent_ms = 60'000;
    CHECK(verdict({left, at(Phase::validation, 100)}) == "none");
}

TEST_CASE("verdicts and records survive their way, and garbage does not") {
    const auto found = decode_verdict("12 silent");
    REQUIRE(found);
    CHECK(encode(*found) == "12 silent");
    for (const char* garbage : {"", "end", "3", "3 nonsense", "x lost"}) {
        CHECK(!decode_verdict(garbage));
    }
    WatchRecord record = *waiting(1'234).record;
    record.file = "m/state.json";
    record.peak_bytes = 4'096;
    record.error = "line one\nline two \x1f end";
    record.stack = "main\n";
    const auto copy = decode_watch_record(encode(record));
    REQUIRE(copy);
    CHECK(copy->position() == "waiting in all_reduce \"bucket 3\", before the first step");
    CHECK(copy->still_ms == 1'234);
    CHECK(copy->file == "m/state.json");
    CHECK(copy->peak_bytes == 4'096);
    CHECK(copy->error == "line one\nline two   end");
    CHECK(copy->stack == "main\n");
    CHECK(
        !decode_watch_record("1\x1f"
                             "2"));
    CHECK(!decode_watch_record(encode(record) + '\x1f'));
}

TEST_CASE("a record with a number that is from no run is no record") {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    const auto read = [](auto member, std::int64_t value) {
        WatchRecord record = *waiting(1'234).record;
        member(record) = value;
        return decode_watch_record(encode(record)).has_value();
    };
    for (auto* member : {+[](WatchRecord& r) -> std::int64_t& { return r.still_ms; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.step; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.window.last_step; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.window.data_us; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.window.computing_us; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.window.optimizer_us; },
                         +[](WatchRecord& r) -> std::int64_t& { return r.peak_bytes; }}) {
        CHECK(read(member, 1'000'000'000'000));
        CHECK_FALSE(read(member, largest));
        CHECK_FALSE(read(member, -1));
    }
    CHECK_FALSE(decode_verdict("-1 stuck"));
}

TEST_CASE("a rank that stands still for months is late") {
    constexpr std::int64_t months_ms = std::int64_t{1} << 32;  // 0 in an int
    CHECK(verdict({waiting(months_ms), at(Phase::data, months_ms)}) == "1 stuck");
}
