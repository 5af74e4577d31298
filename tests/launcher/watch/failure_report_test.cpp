// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/failure_report.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "launcher/watch/ranks_file.hpp"
#include "launcher/watch/thread_stack.hpp"
#include "runtime/core/json_text.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

comm::Sighting waiting(std::int64_t step) {
    comm::Sighting rank;
    rank.record = comm::WatchRecord();
    rank.record->host = "node1";
    rank.record->process = 4711;
    rank.record->step = step;
    rank.record->phase = "forward and backward";
    rank.record->operation = "all_reduce \"bucket 3\"";
    rank.record->waiting = true;
    rank.record->still_ms = 4'000;
    return rank;
}

// Rank 3 of 5 hangs in data, rank 4 is a step behind.
comm::WatchNews stuck() {
    comm::WatchNews news;
    news.verdict = {3, comm::Cause::stuck};
    news.ranks = {waiting(12), waiting(12), waiting(12), waiting(12), waiting(11)};
    auto& culprit = *news.ranks[3].record;
    culprit.host = "node2";
    culprit.phase = "reading data";
    culprit.operation.clear();
    culprit.waiting = false;
    culprit.still_ms = 4'200;
    culprit.stack = "read\nTrainer::step()\n";
    return news;
}

constexpr auto epoch = std::chrono::system_clock::time_point();

bool repeats_links = false;

}  // namespace

// Replaces the system's function for this program.
extern "C" int link(const char* from, const char* to) noexcept {
    const int result = ::linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result != 0 || !repeats_links) return result;
    errno = EEXIST;
    return -1;
}

TEST_CASE("a report says who, where and since when, and groups the others by their place") {
    CHECK(failure_lines(stuck()) ==
          "the run has failed: rank 3 on node2 does not move on: reading data, step 12, for 4.2 s; "
          "the others wait for it\n"
          "  rank 4: waiting in all_reduce \"bucket 3\", step 11\n"
          "  ranks 0-2: waiting in all_reduce \"bucket 3\", step 12\n"
          "  the main thread of rank 3:\n"
          "    read\n"
          "    Trainer::step()\n");
}

TEST_CASE("ranks that are as silent as the one that is named are told of") {
    comm::WatchNews news = stuck();
    news.verdict = {3, comm::Cause::silent};
    news.ranks[3].silent_ms = 4'800;
    news.ranks[4].silent_ms = 4'500;
    const std::string lines = failure_lines(news);
    CHECK(
        lines.find("rank 4: waiting in all_reduce \"bucket 3\", step 11; no sign of it either\n") !=
        std::string::npos);
    CHECK(lines.find("ranks 0-2: waiting in all_reduce \"bucket 3\", step 12\n") !=
          std::string::npos);
}

TEST_CASE("an error is told in the rank's own words; a rank never heard of is no problem") {
    comm::WatchNews news = stuck();
    news.verdict.cause = comm::Cause::failed;
    news.ranks[3].record->error = "train-3.h5: row 7 is damaged";
    CHECK(
        failure_lines(news).starts_with("the run has failed: rank 3 on node2 failed (reading "
                                        "data, step 12): train-3.h5: row 7 is damaged\n"));
    news.ranks[3] = {{}, 0, true};
    CHECK(failure_lines(news).starts_with(
        "the run has failed: rank 3 was never heard of, and is gone\n"));
    CHECK(parse_json(failure_json(news, epoch))["rank"] == 3);
}

TEST_CASE("a join by NCCL without an answer is named, with its time and what to look at") {
    comm::WatchNews news = stuck();
    news.verdict = {0, comm::Cause::unknown};
    for (auto& rank : news.ranks) {
        rank = waiting(0);
        rank.record->operation = "NCCL's join";
        rank.record->still_ms = 8'000;
    }
    const std::string lines = failure_lines(news);
    INFO(lines);
    CHECK(lines.starts_with("the run has failed: joining by NCCL: no answer for 8.0 s"));
    for (const std::string told :
         {"NCCL_SOCKET_IFNAME", "NCCL_DEBUG=INFO", "--interface", "firewall", "docs/launching.md"})
        CHECK(lines.find(told) != std::string::npos);
    CHECK(lines.find("  ranks 1-4: waiting in NCCL's join, before the first step\n") !=
          std::string::npos);
}

TEST_CASE("the report for programs holds the same, of every rank") {
    const auto json = parse_json(failure_json(stuck(), epoch + std::chrono::seconds(64)));
    CHECK(json["time"] == "1970-01-01T00:01:04Z");
    CHECK(json["since"] == "1970-01-01T00:00:59Z");
    CHECK(json["rank"] == 3);
    CHECK(json["cause"] == "stuck");
    CHECK(json["phase"] == "reading data");
    CHECK(json["stack"] == nlohmann::json({"read", "Trainer::step()"}));
    REQUIRE(json["ranks"].size() == 5);
    CHECK(json["ranks"][4]["rank"] == 4);
    CHECK(json["ranks"][4]["operation"] == "all_reduce \"bucket 3\"");
    CHECK(json["ranks"][4]["waiting"] == true);
}

TEST_CASE("while a run goes on a file tells where its ranks are, and goes with the run") {
    const tests::ScratchFolder scratch;
    std::vector<comm::Sighting> ranks = stuck().ranks;
    ranks[3].record->peak_bytes = 4096;
    ranks[3].record->window = {50, 1'000'000, 3'000'000, 1'000'000};
    const train::RunLimits limits{2, 100, -1};
    const auto json = parse_json(ranks_json(ranks, limits, epoch));
    CHECK(json["limits"]["max_train_steps"] == 100);
    REQUIRE(json["ranks"].size() == 5);
    CHECK(json["ranks"][3]["peak_bytes"] == 4096);
    CHECK(json["ranks"][3]["work_s"] == doctest::Approx(0.1));
    {
        RanksFile file(scratch.path(), limits);
        file.write(ranks);
        while (!scratch.names().contains("ranks.json")) std::this_thread::yield();
        file.write({});  // too early for another one
        CHECK(scratch.names() == std::set<std::string>{"ranks.json"});
        CHECK(parse_json(tests::read_text(scratch / "ranks.json"))["ranks"].size() == 5);
    }
    CHECK(scratch.names().empty());
    RanksFile nowhere(scratch / "none", limits);
    nowhere.write(ranks);
    nowhere.remove();
    RanksFile none("", limits);
    none.write(ranks);
    CHECK(scratch.names().empty());
}

TEST_CASE("of several ranks that report the first is heard, until the next run") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch / ".";
    CHECK(publish_failure(folder, "first") == Published::here);
    CHECK(publish_failure(folder, "second") == Published::by_another_rank);
    CHECK(tests::read_text(folder + "/failure.json") == "first");
    forget_failure(folder);
    CHECK(publish_failure(folder, "third") == Published::here);
    CHECK(publish_failure(scratch / "new", "fourth") == Published::here);
    CHECK(tests::read_text(scratch / "new/failure.json") == "fourth");
    CHECK(publish_failure(scratch / "new/failure.json", "fifth") == Published::not_writable);
}

TEST_CASE("a report that cannot be written, or whose rank was killed, leaves no file") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch / ".";
    {
        const tests::FileSizeLimit full(0);
        CHECK(publish_failure(folder, "first") == Published::not_writable);
    }
    CHECK(scratch.names(".").empty());
    tests::write_text(folder + "/failure.json.12-34", "half");
    tests::write_text(folder + "/failure.jsonl", "another");
    forget_failure(folder);
    CHECK(scratch.names(".") == std::set<std::string>{"failure.jsonl"});
}

TEST_CASE("a link whose answer a file server lost and repeated counts as made") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch / ".";
    repeats_links = true;
    CHECK(publish_failure(folder, "first") == Published::here);
    repeats_links = false;
    CHECK(tests::read_text(folder + "/failure.json") == "first");
    CHECK(publish_failure(folder, "second") == Published::by_another_rank);
}

TEST_CASE("ranks with the same process number on several hosts do not mix their reports") {
    for (int round = 0; round < 50; ++round) {
        const tests::ScratchFolder scratch;
        const std::string folder = scratch / ".";
        const auto report = [](char rank) { return std::string(300'000, rank); };
        std::string first;
        std::vector<std::jthread> ranks;
        for (char rank = '0'; rank < '4'; ++rank) {
            ranks.emplace_back([&, rank] {
                if (publish_failure(folder, report(rank)) == Published::here) first += rank;
            });
        }
        ranks.clear();
        REQUIRE(first.size() == 1);
        const bool whole = tests::read_text(folder + "/failure.json") == report(first.front());
        CHECK(whole);
    }
}

TEST_CASE("a rank that waits for a file is reported with it") {
    comm::WatchNews news = stuck();
    news.ranks[3].record->phase = "saving a checkpoint";
    news.ranks[3].record->file = "m/model.safetensors";
    CHECK(failure_lines(news).find("saving a checkpoint (m/model.safetensors), step 12") !=
          std::string::npos);
    CHECK(parse_json(failure_json(news, epoch))["file"] == "m/model.safetensors");
}

TEST_CASE("a rank whose connections were reset is not called dead") {
    comm::WatchNews news = stuck();
    news.verdict = {3, comm::Cause::lost};
    CHECK(failure_lines(news).find("rank 3 on node2 is gone") != std::string::npos);
    news.ranks[3].broken = true;
    CHECK(failure_lines(news).find("rank 3 on node2 lost its connections") != std::string::npos);
}

TEST_CASE("a thread that sleeps tells its stack, again and again") {
    constexpr int long_ms = 60'000;
    std::atomic<const ThreadStack*> asked{nullptr};
    std::atomic<bool> done{false};
    std::thread sleeper([&] {
        const ThreadStack own;
        asked = &own;
        asked.notify_one();
        done.wait(false);
    });
    asked.wait(nullptr);
    CHECK(!asked.load()->take(long_ms).empty());
    CHECK(!asked.load()->take(long_ms).empty());
    done = true;
    done.notify_one();
    sleeper.join();
}
